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

/** A client in one session. */
export interface Guest {
  readonly seat: Seat;
  /** The identity that opened the session, if clients are authenticated. Nobody else may use it. */
  readonly principal: string | null;
  /** Sends a message that the proxy composed. */
  readonly say: Say;
  /**
   * The headers of its latest request. Requests that the proxy sends on behalf of this client carry the same headers.
   * Empty while the client has no open request, because there may be thousands of sessions with kilobytes of headers
   * each.
   */
  headers: string;
  /** The session id that the server assigned; null if there is none. */
  id: string | null;
  /** Which calls its event streams belong to, in case it resumes one. */
  readonly trail: EventTrail;
}

/** What is kept internally for a client. */
interface Entry extends Guest {
  readonly owner: ReturnType<typeof ownerOf>;
  /** How many of its requests are open. */
  open: number;
}

/** The known clients. The server owns the sessions; this only keeps what belongs to which session. */
export interface GuestBook {
  /** The session that a request belongs to, or a new one. Null if it has ended or this client may not use it. */
  find(visit: Visit): Guest | null;
  /** Learns from a server's response which sessions begin and end. */
  heard(visit: Visit, guest: Guest, head: ResponseHead): void;
  /** Ends a session: requests for it are refused from now on. */
  end(guest: Guest): void;
}

/** Options of a guest book. */
export interface GuestBookOptions {
  /** Makes a seat. Messages that it composes itself are sent with `say`. */
  readonly seat: (owner: Owner, say: Say, onExhausted: () => void) => Seat;
  readonly say: (guest: Guest, ...args: Parameters<Say>) => void;
  /** Called when the server has given a session an id, and when a session has ended or was forgotten. */
  readonly onOpened?: (session: Session) => void;
  readonly onClosed?: (session: Session) => void;
  /** Called when too many calls of a session were cancelled or given up. The session must end. */
  readonly onExhausted: (guest: Guest) => void;
  /** Called with the status of a response that is not a success. */
  readonly onRefused?: (visit: Visit, guest: Guest, status: number) => void;
  /**
   * Whether a session may only be used by the identity that opened it. Then a session id that is not known here is
   * refused.
   */
  readonly isGuarded: boolean;
  readonly maxSessions: number;
}

/** How many ended sessions are remembered. */
const MAX_ENDED = 10_000;

/** Makes a guest book. When it is full, the least recently used session is forgotten; its client can come back. */
export function createGuestBook(options: GuestBookOptions): GuestBook {
  const { seat, say, onExhausted, onRefused = () => {}, isGuarded, maxSessions } = options;
  const byId = new Map<string, Entry>(); // least recently seen first
  // Sessions not known here, for example after a restart of the proxy, while requests for them wait for the server's
  // response.
  const arriving = new Map<string, Arrival>();
  // the most recent ones, oldest first: the proxy must not answer for an ended session as if it were alive
  const ended = new Set<string>();

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
   * The guest of a session that is not known here yet. All concurrent requests share it: if each had its own table of
   * open calls, the response to one could be judged as the response to another with the same id.
   */
  function arrive(id: string, visit: Visit): Guest {
    const arrival = arriving.get(id) ?? { guest: admit(visit), waiting: new Set<Visit>(), hasLeft: false };
    arriving.set(id, arrival);
    arrival.waiting.add(visit);
    visit.response.once("close", () => {
      if (arrival.waiting.delete(visit)) arrival.hasLeft = true; // the server has not responded to it
      settle(id, arrival, visit);
    });
    return arrival.guest;
  }

  function settle(id: string, arrival: Arrival, visit: Visit): void {
    if (arrival.waiting.size > 0 || arriving.get(id) !== arrival) return;
    arriving.delete(id);
    const { guest, hasLeft } = arrival;
    // The server may still answer the calls of a client that has disconnected.
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
      // If the session were only forgotten, ids of its open calls could be used again. So such a session is ended.
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
      // A 404 may be about the session or about a method. The client reacts to either, so the session is kept.
      if (head.status >= 300) return onRefused(visit, guest, head.status);
      if (visit.method === "DELETE" && sessionId !== null) return end(sessionId);
      if (sessionId === null) {
        if (given === null || byId.has(given)) return;
        guest.headers = `${guest.headers}${HEADERS.session}: ${given}\r\n`;
        register(given, guest, visit);
        // Rules count by session only if the server assigned the id. A client may invent others, and some servers
        // repeat them.
        adopt(guest, given);
      } else if (guest.id === null && !byId.has(sessionId)) register(sessionId, guest, visit);
    },
  };
}

/** A session that is not known here yet, while requests for it wait for the server. */
interface Arrival {
  readonly guest: Entry;
  /** The requests that the server has not responded to yet. */
  readonly waiting: Set<Visit>;
  /** Whether a client disconnected before the server responded. */
  hasLeft: boolean;
}

/** Keeps the headers of a session while one of its requests is open. */
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

/** From now on rules count by this session, unless the client's identity is known. */
function adopt({ seat: { session } }: Guest, id: string): void {
  if (!session.scope.startsWith("address:")) return;
  session.adopt(`session:${createHash("sha256").update(id).digest("base64url")}`);
}
