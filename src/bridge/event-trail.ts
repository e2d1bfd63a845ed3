import type { Call } from "../session/call.ts";

/**
 * Which calls may be answered after each event of a session's streams. A client that lost a stream resumes it by the id of
 * the last event it has seen, and the server sends again what came after it on that stream. Only the calls of that stream
 * that were not answered before the event can be answered there. An answer that went by its request's id alone could be an
 * old one, for another request that had the same id; so once an id is used again, nothing on an older stream answers to it.
 */
export interface EventTrail {
  /** Watches a new stream, on which these calls may be answered. */
  open(calls: readonly Call[]): WatchedStream;
  /** Watches a stream that is resumed after an event. Nothing is answered on it where the event is not known for certain. */
  resume(eventId: string): WatchedStream;
  /** A request with this id is sent: answers to it and to the request that had the id before cannot be told apart. */
  use(key: number | string): void;
}

/** A stream of the server, and the calls that may be answered on it. */
export interface WatchedStream {
  /** The calls that may still be answered. Changes with time. */
  readonly calls: readonly Call[];
  /** A call was answered on the stream. */
  answered(call: Call): void;
  /** An event with this id was sent on the stream. */
  note(eventId: string): void;
  /** The stream is closed. */
  end(): void;
}

/** How many events of a session are remembered. The oldest goes first. */
export const MAX_TRAILED_EVENTS = 256;
/** How many bytes may be kept with the calls that they belong to, beside those of the newest event. */
export const MAX_TRAILED_BYTES = 4 * 1024 * 1024;
/** A longer id is not remembered. */
const MAX_EVENT_ID_CHARACTERS = 256;

interface Stream {
  /** Which stream this one was resumed from at first: the same id on two others does not say which is meant. */
  readonly origin: object;
  /** The calls that are not answered. */
  readonly open: Call[];
  /** The calls that are answered, with the number of events that had been sent before. */
  readonly answered: Map<Call, number>;
  /** How many events with ids were sent. */
  sent: number;
  isClosed: boolean;
  /** How many events of it are remembered. */
  remembered: number;
  /** What its calls keep, while events of it are remembered. */
  bytes: number;
}

interface Event {
  /** Null where streams that have nothing to do with each other gave the same id. */
  readonly stream: Stream | null;
  /** The how-manyth event of the stream it is, from 1. */
  readonly place: number;
}

/** Makes an empty trail. */
export function createEventTrail(): EventTrail {
  let events: Map<string, Event> | null = null; // made when a server first gives an id
  const streams = new Set<Stream>(); // those that are open, or have events that are remembered
  let bytes = 0;

  function remember(eventId: string, event: Event, known: Map<string, Event>): void {
    known.set(eventId, event);
    const { stream } = event;
    if (stream === null || stream.remembered++ > 0) return;
    stream.bytes = stream.open.reduce((sum, { memo, beside }) => sum + (memo?.bytes ?? 0) + (beside?.bytes ?? 0), 0);
    bytes += stream.bytes;
  }

  function forget(eventId: string, known: Map<string, Event>): void {
    const stream = known.get(eventId)?.stream ?? null;
    known.delete(eventId);
    if (stream === null || --stream.remembered > 0) return;
    bytes -= stream.bytes;
    if (stream.isClosed) streams.delete(stream);
  }

  function note(eventId: string, stream: Stream): void {
    stream.sent++;
    if (eventId === "" || eventId.length > MAX_EVENT_ID_CHARACTERS) return;
    events ??= new Map();
    const before = events.get(eventId);
    // Some servers count the events of each stream from the beginning. Then nobody can tell which one is resumed.
    const isCertain = before === undefined || before.stream?.origin === stream.origin;
    forget(eventId, events);
    remember(eventId, { stream: isCertain ? stream : null, place: stream.sent }, events);
    for (const oldest of events.keys()) {
      if (events.size <= MAX_TRAILED_EVENTS && (bytes <= MAX_TRAILED_BYTES || oldest === eventId)) return;
      forget(oldest, events);
    }
  }

  function watch(open: Call[], origin: object): WatchedStream {
    const stream: Stream = { origin, open, answered: new Map(), sent: 0, isClosed: false, remembered: 0, bytes: 0 };
    streams.add(stream);
    return {
      calls: open,
      answered(call) {
        if (remove(open, call)) stream.answered.set(call, stream.sent);
      },
      note: (eventId) => note(eventId, stream),
      end() {
        stream.isClosed = true;
        if (stream.remembered === 0) streams.delete(stream);
      },
    };
  }

  return {
    open: (calls) => watch([...calls], {}),
    resume(eventId) {
      const event = events?.get(eventId);
      if (event === undefined || event.stream === null) return watch([], {});
      const { origin, open, answered } = event.stream;
      const since = [...answered].filter(([, sent]) => sent >= event.place).map(([call]) => call);
      return watch([...open, ...since], origin);
    },
    use(key) {
      for (const { open, answered } of streams) {
        for (const call of open) if (call.id.key === key) remove(open, call);
        for (const call of answered.keys()) if (call.id.key === key) answered.delete(call);
      }
    },
  };
}

function remove(calls: Call[], call: Call): boolean {
  const at = calls.indexOf(call);
  if (at >= 0) calls.splice(at, 1);
  return at >= 0;
}
