import type { Call } from "../session/calls.ts";

/**
 * Which calls the events of a session's streams belong to. A client that lost a stream resumes it by the id of the last
 * event it has seen, and the server sends again what came after it on that stream. Only the calls of that stream can be
 * answered there: an answer that went by its request's id alone could be an old one, for a request that had the same id.
 */
export interface EventTrail {
  /** Notes an event that was sent on a stream of these calls. */
  note(eventId: string, calls: readonly Call[]): void;
  /** The calls of the stream that an event was sent on; none where that is not known for certain. */
  find(eventId: string): readonly Call[];
}

/** How many events of a session are remembered. The oldest goes first. */
export const MAX_TRAILED_EVENTS = 256;
/** How many bytes may be kept with the calls that they belong to, beside those of the newest event. */
export const MAX_TRAILED_BYTES = 4 * 1024 * 1024;
/** A longer id is not remembered. */
const MAX_EVENT_ID_CHARACTERS = 256;

/** Makes an empty trail. */
export function createEventTrail(): EventTrail {
  let events: Map<string, readonly Call[]> | null = null; // made when a server first gives an id
  const uses = new Map<readonly Call[], number>(); // by how many events each stream is remembered
  let bytes = 0;

  function use(calls: readonly Call[]): void {
    const count = uses.get(calls) ?? 0;
    uses.set(calls, count + 1);
    if (count === 0) bytes += bytesOf(calls);
  }

  function release(calls: readonly Call[]): void {
    const count = uses.get(calls) ?? 0;
    if (count > 1) return void uses.set(calls, count - 1);
    if (uses.delete(calls)) bytes -= bytesOf(calls);
  }

  function forget(eventId: string, known: Map<string, readonly Call[]>): void {
    const calls = known.get(eventId);
    known.delete(eventId);
    if (calls !== undefined) release(calls);
  }

  return {
    note(eventId, calls) {
      if (calls.length === 0 || eventId === "" || eventId.length > MAX_EVENT_ID_CHARACTERS) return;
      events ??= new Map();
      const before = events.get(eventId);
      // Some servers count the events of each stream from the beginning: nobody can tell which one is resumed then.
      const kept = before === undefined || before === calls ? calls : AMBIGUOUS;
      forget(eventId, events);
      use(kept);
      events.set(eventId, kept);
      for (const oldest of events.keys()) {
        if (events.size <= MAX_TRAILED_EVENTS && (bytes <= MAX_TRAILED_BYTES || oldest === eventId)) return;
        forget(oldest, events);
      }
    },
    find: (eventId) => events?.get(eventId) ?? [],
  };
}

const AMBIGUOUS: readonly Call[] = [];

function bytesOf(calls: readonly Call[]): number {
  return calls.reduce((sum, { memo }) => sum + (memo?.bytes ?? 0), 0);
}
