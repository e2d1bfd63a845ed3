import type { Call } from "../session/calls.ts";

/**
 * Which calls the events of a session's streams belong to. A client that lost a stream resumes it by the id of the last
 * event it has seen, and the server sends again what came after it on that stream. Only the calls of that stream that were
 * not answered before the event can be answered there. An answer that went by its request's id alone could be an old one,
 * for another request that had the same id; so once an id is used again, nothing on an older stream answers to it.
 */
export interface EventTrail {
  /** Notes an event after which these calls may be answered. */
  note(eventId: string, calls: readonly Call[]): void;
  /** The calls that may be answered after an event; none where that is not known. */
  find(eventId: string): readonly Call[];
  /** Watches over the calls that may be answered on a stream, until the stream ends. */
  watch(calls: readonly Call[]): WatchedCalls;
  /** A request with this id is sent: what had the id before cannot be told from it any more. */
  use(key: number | string): void;
}

/** The calls that may still be answered on a stream. */
export interface WatchedCalls {
  /** Loses a call that was answered, and one whose id is used again. */
  readonly calls: readonly Call[];
  answered(call: Call): void;
  /** The stream is over. */
  end(): void;
}

/** How many events of a session are remembered. The oldest goes first. */
export const MAX_TRAILED_EVENTS = 256;
/** A longer id is not remembered. */
const MAX_EVENT_ID_CHARACTERS = 256;

/** Makes an empty trail. */
export function createEventTrail(): EventTrail {
  let events: Map<string, Call[]> | null = null; // made when a server first gives an id
  const watched = new Set<Call[]>(); // of streams that are open, which the door bounds

  return {
    note(eventId, calls) {
      if (calls.length === 0 || eventId === "" || eventId.length > MAX_EVENT_ID_CHARACTERS) return;
      events ??= new Map();
      events.delete(eventId);
      events.set(eventId, [...calls]);
      if (events.size <= MAX_TRAILED_EVENTS) return;
      for (const oldest of events.keys()) return void events.delete(oldest);
    },
    find: (eventId) => events?.get(eventId) ?? [],
    watch(calls) {
      const left = [...calls];
      watched.add(left);
      return {
        calls: left,
        answered: (call) => remove(left, (each) => each === call),
        end: () => void watched.delete(left),
      };
    },
    use(key) {
      if (events === null && watched.size === 0) return;
      const isSame = (call: Call): boolean => call.id.key === key;
      for (const calls of watched) remove(calls, isSame);
      for (const [eventId, calls] of events ?? []) {
        remove(calls, isSame);
        if (calls.length === 0) events?.delete(eventId);
      }
    },
  };
}

function remove(calls: Call[], isMeant: (call: Call) => boolean): void {
  const at = calls.findIndex(isMeant);
  if (at >= 0) calls.splice(at, 1);
}
