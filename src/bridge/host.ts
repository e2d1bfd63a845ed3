import { HEADERS } from "../message/protocol.ts";
import type { Visit } from "../link/http/door.ts";
import { replyEmpty, replyError } from "../link/http/reply.ts";
import { openMessage, whole } from "../message/message.ts";
import { eraOf } from "../session/era.ts";
import type { ClientSide, Paths } from "./client-side.ts";
import { openHosted } from "./hosted.ts";
import type { Hosted, HostedOptions } from "./hosted-session.ts";
import { nameOf, ownerOfSession } from "./owner.ts";
import { FULL, NO_SERVER, NO_SESSION, NOT_ALLOWED, readMessage } from "./refusal.ts";

/** Options of a host. */
export interface HostOptions extends Pick<HostedOptions, "seats" | "knowledge" | "open"> {
  readonly paths: Paths;
  /** The transports that it serves. */
  readonly transports: readonly ("streamable" | "sse")[];
  readonly maxMessageBytes: number;
  readonly maxSessions: number;
  /** A session without an open stream is ended after this time. */
  readonly idleMs: number;
  /** Serves requests that do not belong to a session; null if that is not supported. */
  readonly stateless: { post(visit: Visit, body: Buffer): void; announce(): void } | null;
}

/** Makes a client side that hosts sessions itself, each with its own server session. */
export function createHost(options: HostOptions): ClientSide {
  const { paths, transports, maxMessageBytes, maxSessions, idleMs, stateless } = options;
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

  /** Opens a session for a client, unless the limit is reached. */
  function admit(visit: Visit, hasOneStream: boolean, then: (session: Hosted) => void): void {
    const { response } = visit;
    // Sessions that are closing count too: their processes are still running.
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

  /** Finds a session for the identity that opened it. */
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
      // A stateless request carries everything it needs, so no session is required.
      if (stateless !== null && "method" in envelope && eraOf(bytes, params) === "stateless") {
        return stateless.post(visit, body);
      }
      if (sessionId !== null) return replyError(response, 404, NO_SESSION, null);
      if (envelope.kind !== "request" || envelope.method.name !== "initialize") {
        // A message that cannot be read gets the specific error from the stateless side.
        if (envelope.kind === "opaque" && stateless !== null) return stateless.post(visit, body);
        return replyError(response, 400, SESSION_MISSING, null);
      }
      admit(visit, false, (opened) => opened.post(visit, body, [HEADERS.session, opened.id]));
    });
  }

  /** Streamable HTTP. */
  function takeRequest(visit: Visit): void {
    const { method, response, head } = visit;
    if (method === "POST") return post(visit);
    if (method !== "GET" && method !== "DELETE") return replyError(response, 405, NOT_ALLOWED, "GET, POST, DELETE");
    if (head.sessionId === null) return replyError(response, 400, SESSION_MISSING, null);
    const session = find(head.sessionId, visit);
    if (session === null) return replyError(response, 404, NO_SESSION, null);
    if (method === "GET") return session.listen(visit, null);
    void session.close();
    replyEmpty(response, 200, []);
  }

  /** HTTP+SSE of 2024-11-05: the event stream. */
  function openStream(visit: Visit): void {
    if (visit.method !== "GET") return replyError(visit.response, 405, NOT_ALLOWED, "GET");
    visit.request.resume();
    admit(visit, true, (session) => {
      session.listen(visit, Buffer.from(`event: endpoint\ndata: ${paths.messages}?sessionId=${session.id}\n\n`));
    });
  }

  /** HTTP+SSE of 2024-11-05: the messages. */
  function takeMessage(visit: Visit): void {
    if (visit.method !== "POST") return replyError(visit.response, 405, NOT_ALLOWED, "POST");
    const session = find(new URLSearchParams(visit.query).get("sessionId"), visit);
    if (session === null) return replyError(visit.response, 404, NO_SESSION, null);
    readMessage(visit, maxMessageBytes, (body) => session.post(visit, body, []));
  }

  const takers = new Map<string, (visit: Visit) => void>();
  if (transports.includes("streamable")) takers.set(paths.mcp, takeRequest);
  if (transports.includes("sse")) takers.set(paths.sse, openStream).set(paths.messages, takeMessage);

  return {
    visit(visit) {
      const take = takers.get(visit.path);
      take?.(visit);
      return take !== undefined;
    },
    announce() {
      for (const session of sessions.values()) session.announce();
      stateless?.announce();
    },
    owes: () => [...sessions.values()].some(({ owes }) => owes),
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

/** A revision looks like a date. Which revisions are supported was negotiated with the server. */
function isKnown(version: string): boolean {
  return /^20\d\d-\d\d-\d\d$/.test(version);
}
