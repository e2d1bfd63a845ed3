import type { Call } from "../session/calls.ts";

/**
 * Which calls the events of a session's streams belong to. A client that lost a stream resumes it by the id of the last
 * event it has seen, and the server sends again what came after it on that stream. Only the calls of that stream can be
 * answered there: an answer that went by its request's id alone could be an old one, for a request that had the same id.
 */
export interface EventTrail {
  /** Notes an event that was sent on a stream of these calls. */
  note(eventId: string, calls: readonly Call[]): void;
  /** The calls of the stream that an event was sent on; none where that is not known. */
  find(eventId: string): readonly Call[];
}

/** How many events of a session are remembered. The oldest goes first. */
export const MAX_TRAILED_EVENTS = 256;
/** A longer id is not remembered. */
const MAX_EVENT_ID_CHARACTERS = 256;

/** Makes an empty trail. */
export function createEventTrail(): EventTrail {
  let events: Map<string, readonly Call[]> | null = null; // made when a server first gives an id
  return {
    note(eventId, calls) {
      if (calls.length === 0 || eventId === "" || eventId.length > MAX_EVENT_ID_CHARACTERS) return;
      events ??= new Map();
      events.delete(eventId);
      events.set(eventId, calls);
      if (events.size <= MAX_TRAILED_EVENTS) return;
      for (const oldest of events.keys()) return void events.delete(oldest);
    },
    find: (eventId) => events?.get(eventId) ?? [],
  };
}
