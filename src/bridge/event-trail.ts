import type { Call } from "../session/call.ts";

/**
 * Keeps which calls may be answered after each event of a session's streams. A client that lost a stream resumes it
 * with the id of the last event it received, and the server sends again what followed on that stream. Only calls of
 * that stream that were not answered before the event may be answered there. Matching by request id alone is not
 * enough: the response could be an old one, for an earlier request with the same id. So once an id is used again, no
 * response on an older stream can match it.
 */
export interface EventTrail {
  /** Watches a new stream, on which these calls may be answered. */
  open(calls: readonly Call[]): WatchedStream;
  /**
   * Watches a stream that is resumed after an event. If it is not certain which event is meant, no call may be answered
   * on it.
   */
  resume(eventId: string): WatchedStream;
  /**
   * Call when a request with this id is sent: from then on, responses to it cannot be told apart from responses to an
   * earlier request with the same id.
   */
  use(key: number | string): void;
}

/** A stream from the server, and the calls that may be answered on it. */
export interface WatchedStream {
  /** The calls that may still be answered. The list changes over time. */
  readonly calls: readonly Call[];
  /** Call when a call was answered on the stream. */
  answered(call: Call): void;
  /** Call when an event with this id was sent on the stream. */
  note(eventId: string): void;
  /** Call when the stream is closed. */
  end(): void;
}

/** How many events of a session are remembered. The oldest is dropped first. */
export const MAX_TRAILED_EVENTS = 256;
/** How many bytes may be kept together with the calls, not counting those of the newest event. */
export const MAX_TRAILED_BYTES = 4 * 1024 * 1024;
/** A longer id is not remembered. */
const MAX_EVENT_ID_CHARACTERS = 256;

interface Stream {
  /**
   * The stream that this one was first resumed from. If two streams of different origin used the same event id, it is
   * not clear which one a client means.
   */
  readonly origin: object;
  /** The calls that are not answered yet. */
  readonly open: Call[];
  /** The answered calls, each with the number of events that had been sent before its response. */
  readonly answered: Map<Call, number>;
  /** How many events with ids were sent. */
  sent: number;
  isClosed: boolean;
  /** How many of its events are remembered. */
  remembered: number;
  /** How many bytes its calls keep in memory while events of it are remembered. */
  bytes: number;
}

interface Event {
  /** Null if unrelated streams used the same event id. */
  readonly stream: Stream | null;
  /** The position of the event in its stream, from 1. */
  readonly place: number;
}

/** Makes an empty trail. */
export function createEventTrail(): EventTrail {
  let events: Map<string, Event> | null = null; // created when a server first sends an event id
  const streams = new Set<Stream>(); // streams that are open or have remembered events
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
    // Some servers number the events of each stream from the beginning. Then it is not clear which stream is resumed.
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
