import { HEADERS, LOWER_HEADERS } from "../message/protocol.ts";
import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { withoutResumption } from "../link/http/client-head.ts";
import type { Visit } from "../link/http/door.ts";
import { headerOf } from "../link/upstream/head.ts";
import type { Owner } from "../session/owner.ts";
import type { Session } from "../session/session.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { createEventTrail, type EventTrail } from "./event-trail.ts";
import { nameOf, ownerOf } from "./owner.ts";
import type { Say, Seat } from "./seats.ts";

/** A client in one conversation. */
export interface Guest {
  readonly seat: Seat;
  /** Who opened it, where we ask; nobody else may use it. */
  readonly principal: string | null;
  /** Sends a message of our own. */
  readonly say: Say;
  /**
   * The headers that its latest request came with: what we ask in its name goes with the same. Empty where no request of it
   * is open. There may be thousands of sessions, and a request may bring kilobytes of headers.
   */
  headers: string;
  /** The server's name for the conversation; null where it has none. */
  id: string | null;
  /** What its event streams belonged to, should it resume one. */
  readonly trail: EventTrail;
}

/** What the book itself notes of a client. */
interface Entry extends Guest {
  readonly owner: ReturnType<typeof ownerOf>;
  /** How many of its requests are open. */
  open: number;
}

/** Who is here. The sessions are the server's; we only remember what belongs to which. */
export interface GuestBook {
  /** The conversation a request belongs to, or a new one. Null where it is somebody else's. */
  find(visit: Visit): Guest | null;
  /** Learns from a server's response which conversations begin and end. */
  heard(visit: Visit, guest: Guest, head: ResponseHead): void;
  /** Ends a conversation: its session is not known here any more. */
  end(guest: Guest): void;
}

/** How a book is kept. */
export interface GuestBookOptions {
  /** Makes a seat; what it has to say of its own goes to `say`. */
  readonly seat: (owner: Owner, say: Say, onExhausted: () => void) => Seat;
  readonly say: (guest: Guest, ...args: Parameters<Say>) => void;
  /** Told of a session that the server has given an id, and of one that is over or forgotten. */
  readonly onOpened?: (session: Session) => void;
  readonly onClosed?: (session: Session) => void;
  /** Told when too many calls of a conversation were cancelled or given up: it must end. */
  readonly onExhausted: (guest: Guest) => void;
  /** Told the status of a response that is not a success. */
  readonly onRefused?: (visit: Visit, guest: Guest, status: number) => void;
  /** Whether sessions belong to who opened them. Then one that is not known here is not known at all. */
  readonly isGuarded: boolean;
  readonly maxSessions: number;
}

/** How many sessions that are over are remembered. */
const MAX_ENDED = 10_000;

/** Opens a book. When it is full, the session that was not used for longest is forgotten. Its client can come back. */
export function createGuestBook(options: GuestBookOptions): GuestBook {
  const { seat, say, onExhausted, onRefused = () => {}, isGuarded, maxSessions } = options;
  const byId = new Map<string, Entry>(); // least recently seen first
  // Sessions that are not known here, as after a restart of ours, while requests in them wait for the server's word on it.
  const arriving = new Map<string, Arrival>();
  const ended = new Set<string>(); // the last ones, oldest first: what we answer ourselves must not make them seem alive

  function admit(visit: Visit): Entry {
    const sayTo: Say = (direction, payload) => say(guest, direction, payload);
    const owner = ownerOf(visit);
    const guest: Entry = {
      owner,
      open: 0,
      seat: seat(owner, sayTo, () => onExhausted(guest)),
      principal: nameOf(visit),
      say: sayTo,
      headers: withoutResumption(visit.head),
      id: null,
      trail: createEventTrail(),
    };
    return guest;
  }

  /**
   * The conversation of a session that is not known here yet. All requests that come at the same time share it: with a
   * table of calls for each, the answer to one could be judged as the answer to another with the same id.
   */
  function arrive(id: string, visit: Visit): Guest {
    const arrival = arriving.get(id) ?? { guest: admit(visit), waiting: new Set<Visit>(), hasLeft: false };
    arriving.set(id, arrival);
    arrival.waiting.add(visit);
    visit.response.once("close", () => {
      if (arrival.waiting.delete(visit)) arrival.hasLeft = true; // the server has not said anything to it
      settle(id, arrival, visit);
    });
    return arrival.guest;
  }

  function settle(id: string, arrival: Arrival, visit: Visit): void {
    if (arrival.waiting.size > 0 || arriving.get(id) !== arrival) return;
    arriving.delete(id);
    const { guest, hasLeft } = arrival;
    // What its client left behind may still be answered.
    if (hasLeft && guest.id === null && guest.seat.session.calls.up.isPending() && !byId.has(id))
      register(id, guest, visit);
  }

  function register(id: string, guest: Entry, { response }: Visit): void {
    guest.id = id;
    guest.seat.session.mcpSession = id;
    guest.owner.settle();
    byId.set(id, guest);
    options.onOpened?.(guest.seat.session);
    hold(guest, response);
    if (byId.size <= maxSessions) return;
    for (const [oldest, { seat: forgotten }] of byId) {
      // The ids of calls that may still be answered would be forgotten, and could be used again: such a session ends.
      if (forgotten.session.calls.up.isPending()) return end(oldest);
      byId.delete(oldest);
      options.onClosed?.(forgotten.session);
      return;
    }
  }

  function end(id: string): void {
    const guest = byId.get(id);
    byId.delete(id);
    if (guest !== undefined) options.onClosed?.(guest.seat.session);
    ended.add(id);
    if (ended.size <= MAX_ENDED) return;
    for (const oldest of ended) return void ended.delete(oldest);
  }

  return {
    end(guest) {
      if (guest.id !== null) end(guest.id);
    },
    find(visit) {
      const { sessionId } = visit.head;
      if (sessionId === null) return admit(visit);
      const known = byId.get(sessionId);
      if (known === undefined) return isGuarded || ended.has(sessionId) ? null : arrive(sessionId, visit);
      if (known.principal !== nameOf(visit)) return null;
      known.headers = withoutResumption(visit.head);
      hold(known, visit.response);
      byId.delete(sessionId);
      byId.set(sessionId, known);
      return known;
    },
    heard(visit, guest: Entry, head) {
      const { sessionId } = visit.head;
      const given = headerOf(head, LOWER_HEADERS.session);
      const arrival = sessionId === null ? undefined : arriving.get(sessionId);
      arrival?.waiting.delete(visit);
      // A 404 may be about the session or about a method. The client acts on either; what is remembered stays.
      if (head.status >= 300) return onRefused(visit, guest, head.status);
      if (visit.method === "DELETE" && sessionId !== null) return end(sessionId);
      if (sessionId === null) {
        if (given === null || byId.has(given)) return;
        guest.headers = `${guest.headers}${HEADERS.session}: ${given}\r\n`;
        register(given, guest, visit);
        // Only an id that the server gave is a session to count by. A client may invent others, and some servers repeat them.
        adopt(guest, given);
      } else if (guest.id === null && !byId.has(sessionId)) register(sessionId, guest, visit);
    },
  };
}

/** A session that is not known here yet, while requests in it wait. */
interface Arrival {
  readonly guest: Entry;
  /** The requests to which the server has not said anything yet. */
  readonly waiting: Set<Visit>;
  /** Whether one of them was left by its client before that. */
  hasLeft: boolean;
}

/** Keeps the headers of a session as long as one of its requests is open. */
function hold(guest: Entry, response: ServerResponse): void {
  if (response.destroyed) {
    if (guest.open === 0) guest.headers = "";
    return;
  }
  guest.open++;
  response.on("close", () => {
    if (--guest.open === 0) guest.headers = "";
  });
}

/** From now on rules count for this session, unless they know who the client is. */
function adopt({ seat: { session } }: Guest, id: string): void {
  if (!session.scope.startsWith("address:")) return;
  session.adopt(`session:${createHash("sha256").update(id).digest("base64url")}`);
}
