import { HEADERS } from "../message/protocol.ts";
import type { Visit } from "../link/http/door.ts";
import { replyEmpty, replyError } from "../link/http/reply.ts";
import { openMessage, whole } from "../message/message.ts";
import { eraOf } from "../session/era.ts";
import { type Hosted, type HostedOptions, openHosted } from "./hosted.ts";
import { nameOf, ownerOfSession } from "./owner.ts";
import { FULL, NO_SERVER, NO_SESSION, NOT_ALLOWED, readMessage } from "./refusal.ts";

/** Sessions of ours, each with a server session of its own. */
export interface Host {
  /** Streamable HTTP. */
  visit(visit: Visit): void;
  /** The transport of 2024-11-05: the stream, and the messages. */
  visitStream(visit: Visit): void;
  visitMessages(visit: Visit): void;
  /** Whether somebody waits who has no response open. */
  readonly owes: boolean;
  /** Ends them all. */
  /** Tells clients that the tools are others from now on. */
  announce(): void;
  close(): Promise<void>;
  destroy(): void;
}

/** How sessions are kept. */
export interface HostOptions extends Pick<HostedOptions, "seats" | "knowledge" | "open"> {
  readonly maxMessageBytes: number;
  readonly maxSessions: number;
  /** A session without an open stream is ended after so long. */
  readonly idleMs: number;
  /** Serves requests that belong to no session; null where there is nobody to. */
  readonly stateless: { post(visit: Visit, body: Buffer): void; announce(): void } | null;
}

/** Makes a host. */
export function createHost(options: HostOptions): Host {
  const { maxMessageBytes, maxSessions, idleMs, stateless } = options;
  const sessions = new Map<string, Hosted>();
  const closing = new Set<Promise<void>>();
  let opening = 0;
  let isOver = false;

  const sweep = setInterval(
    () => {
      const before = Date.now() - idleMs;
      for (const session of sessions.values()) {
        if (session.idleSince !== null && session.idleSince < before) void session.close();
      }
    },
    Math.min(idleMs / 4, SWEEP_MS),
  ).unref();

  function onClosed(id: string, left: Promise<void>): void {
    sessions.delete(id);
    const over = left.finally(() => closing.delete(over));
    closing.add(over);
  }

  /** Opens a session for whoever asks, where there is room. */
  function admit(visit: Visit, hasOneStream: boolean, then: (session: Hosted) => void): void {
    const { response } = visit;
    // Those that are ending count: their processes are still there.
    if (isOver || sessions.size + opening + closing.size >= maxSessions) {
      response.setHeader("Retry-After", "10");
      return replyError(response, 503, FULL, null);
    }
    opening++;
    const { seats, knowledge, open } = options;
    const principal = nameOf(visit);
    const owner = ownerOfSession(visit);
    openHosted({ seats, knowledge, open, principal, owner, hasOneStream, onClosed })
      .finally(() => opening--)
      .then(
        (session) => {
          if (response.destroyed || isOver) return void session.close();
          sessions.set(session.id, session);
          then(session);
        },
        (error: unknown) => {
          seats.witness.trouble("http:no-server", error instanceof Error ? error.message : String(error));
          replyError(response, 502, NO_SERVER, null);
        },
      );
  }

  /** A session, for whoever opened it and for nobody else. */
  function find(id: string | null, visit: Visit): Hosted | null {
    const session = id === null ? undefined : sessions.get(id);
    return session === undefined || session.principal !== nameOf(visit) ? null : session;
  }

  function post(visit: Visit): void {
    const { head, response } = visit;
    const { sessionId, protocolVersion } = head;
    readMessage(visit, maxMessageBytes, (body) => {
      const session = find(sessionId, visit);
      if (session !== null) {
        if (protocolVersion !== null && !isKnown(protocolVersion)) return replyError(response, 400, BAD_VERSION, null);
        return session.post(visit, body, []);
      }
      const { envelope, bytes } = openMessage(whole(body), "up", "allow");
      const params = "params" in envelope ? envelope.params : null;
      // A request that says everything about itself needs no session.
      if (stateless !== null && "method" in envelope && eraOf(bytes, params) === "stateless") {
        return stateless.post(visit, body);
      }
      if (sessionId !== null) return replyError(response, 404, NO_SESSION, null);
      if (envelope.kind !== "request" || envelope.method.name !== "initialize") {
        // What cannot be read is told so in its own words.
        if (envelope.kind === "opaque" && stateless !== null) return stateless.post(visit, body);
        return replyError(response, 400, SESSION_MISSING, null);
      }
      admit(visit, false, (opened) => opened.post(visit, body, [HEADERS.session, opened.id]));
    });
  }

  return {
    announce() {
      for (const session of sessions.values()) session.announce();
      stateless?.announce();
    },
    get owes() {
      return [...sessions.values()].some(({ owes }) => owes);
    },
    visit(visit) {
      const { method, response, head } = visit;
      if (method === "POST") return post(visit);
      if (method !== "GET" && method !== "DELETE") return replyError(response, 405, NOT_ALLOWED, "GET, POST, DELETE");
      if (head.sessionId === null) return replyError(response, 400, SESSION_MISSING, null);
      const session = find(head.sessionId, visit);
      if (session === null) return replyError(response, 404, NO_SESSION, null);
      if (method === "GET") return session.listen(visit, null);
      void session.close();
      replyEmpty(response, 200, []);
    },
    visitStream(visit) {
      if (visit.method !== "GET") return replyError(visit.response, 405, NOT_ALLOWED, "GET");
      visit.request.resume();
      admit(visit, true, (session) => {
        session.listen(visit, Buffer.from(`event: endpoint\ndata: /messages?sessionId=${session.id}\n\n`));
      });
    },
    visitMessages(visit) {
      if (visit.method !== "POST") return replyError(visit.response, 405, NOT_ALLOWED, "POST");
      const session = find(new URLSearchParams(visit.query).get("sessionId"), visit);
      if (session === null) return replyError(visit.response, 404, NO_SESSION, null);
      readMessage(visit, maxMessageBytes, (body) => session.post(visit, body, []));
    },
    async close() {
      isOver = true;
      clearInterval(sweep);
      for (const session of sessions.values()) void session.close(503);
      await Promise.all(closing);
    },
    destroy() {
      isOver = true;
      clearInterval(sweep);
      for (const session of sessions.values()) session.destroy();
    },
  };
}

const SWEEP_MS = 10_000;
const SESSION_MISSING = { code: -32000, message: "Bad Request: Mcp-Session-Id header is required" };
const BAD_VERSION = { code: -32000, message: "Bad Request: Unsupported protocol version" };

/** Revisions look like dates; which of them the server speaks it said itself. */
function isKnown(version: string): boolean {
  return /^20\d\d-\d\d-\d\d$/.test(version);
}
