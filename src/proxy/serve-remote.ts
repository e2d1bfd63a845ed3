import { CLOSED } from "../bridge/answers.ts";
import { createGuestBook, type Guest } from "../bridge/guest-book.ts";
import { joinSides, type Paths } from "../bridge/client-side.ts";
import { createHost } from "../bridge/host.ts";
import { mirrorAnew } from "../bridge/mirror.ts";
import { createOauthPass } from "../bridge/oauth.ts";
import { noteRefusal } from "../bridge/refusal.ts";
import { createSeat } from "../bridge/seats.ts";
import { answerInstead, answersNothing, type ServerListener } from "../bridge/server-end.ts";
import { createThrough } from "../bridge/through.ts";
import { createThroughSse } from "../bridge/through-sse.ts";
import { readResponse } from "../bridge/response-messages.ts";
import type { UpstreamListener } from "../link/upstream/pool.ts";
import { openMessage, whole } from "../message/message.ts";
import type { Service } from "./service.ts";
import type { RemoteServer } from "./remote.ts";
import type { Hub } from "./hub.ts";
import type { Limits, Timeouts } from "./limits.ts";

/** Options of the service. */
export interface RemoteServiceOptions {
  /** The paths for clients. */
  readonly paths: Paths;
  readonly server: RemoteServer;
  readonly hub: Hub;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  /** Whether the proxy authenticates clients. */
  readonly isGuarded: boolean;
  readonly isSecure: boolean;
}

/** Serves HTTP clients with a server at a URL. */
export function createRemoteService({
  paths,
  server,
  hub,
  limits,
  timeouts,
  isGuarded,
  isSecure,
}: RemoteServiceOptions): Service {
  const { pool, found, knowledge } = server;
  const { maxMessageBytes, maxBufferBytes, maxSessions } = limits;
  const scheme = isSecure ? "https" : "http";
  const oauth = createOauthPass({
    paths,
    isOnly: true,
    pool,
    address: found.address,
    originFor: ({ head }) => `${scheme}://${head.host ?? ""}`,
  });

  /** Sends a request or a response to the server on behalf of a client. */
  function say(guest: Guest, direction: "up" | "down", payload: Buffer): void {
    if (direction === "down") return; // clients get their responses on their own requests
    const about = openMessage(whole(payload), "up", "refuse");
    if (answersNothing(about)) return;
    const { session } = guest.seat;
    const call = about.envelope.kind === "request" ? session.calls.up.find(about.envelope.id.key) : undefined;
    const calls = call === undefined ? [] : [call];
    const listener: ServerListener = {
      message: (body, exchange) => void guest.seat.passage.pass(body, "down", exchange),
      lost: (gist, bytes, exchange) => void guest.seat.passage.lose(gist, bytes, "down", exchange),
      isWaiting: (call) => session.calls.up.find(call.id.key) === call,
      givenUp: (call) => session.calls.up.spend(call),
      trouble: (kind, text) => hub.witness.trouble(kind, text),
      isFull: false,
      whenReady: (resume) => resume(),
    };
    // The client has disconnected, so its headers, which the server knows it by, are gone.
    if (guest.id !== null && guest.headers === "") return answerInstead(listener, calls, CLOSED, true);
    let reading: ReturnType<typeof readResponse> | null = null;
    // The client's own headers describe another message.
    const headers = mirrorAnew(guest.headers, about, () => null);
    pool.send(
      { method: "POST", path: found.address.path, headers: headers + ENCODING + server.headers(), body: payload },
      {
        head(head) {
          reading = readResponse({
            head,
            calls,
            maxMessageBytes,
            maxBufferBytes,
            listener,
            take: (body, exchange) => listener.message(body, exchange),
          });
        },
        body: (bytes) => reading?.push(bytes),
        done() {
          reading?.end();
          if (calls.length > 0) answerInstead(listener, calls, CLOSED, true); // the stream ended without a response
        },
        failed() {
          reading?.breakOff();
          answerInstead(listener, calls, CLOSED, true);
        },
      },
    );
  }

  const guests = createGuestBook({
    seat: (owner, sayFor, onExhausted) =>
      createSeat(hub.seats, sayFor, { known: knowledge, owner, transport: "streamable-http", onExhausted }),
    say,
    onOpened: (session) => hub.witness.opened(session),
    onClosed: (session) => hub.witness.closed(session),
    onExhausted(guest) {
      guests.end(guest);
      if (guest.id === null) return;
      const headers = guest.headers + server.headers();
      pool.send({ method: "DELETE", path: found.address.path, headers, body: null }, DEAF);
    },
    onRefused: (visit, { seat }, status) => noteRefusal(hub.witness, visit, seat.session, status),
    isGuarded,
    maxSessions,
  });
  const shared = {
    pool,
    address: found.address,
    headers: ENCODING + server.headers(),
    maxMessageBytes,
    maxBufferBytes,
  };
  const isStreamable = found.kind === "streamable";
  // Clients that use the server's transport: requests, framing and sessions are forwarded.
  const through = isStreamable
    ? createThrough({
        ...shared,
        path: paths.mcp,
        guests,
        isThere: () => server.watch.check(),
        rewrite: (visit, name, value) => oauth.rewrite(visit, name, value),
      })
    : createThroughSse({ ...shared, paths, seats: hub.seats, knowledge, maxSessions });
  // Clients of the other transport: message by message, in sessions that the proxy hosts.
  const host = createHost({
    paths,
    transports: [isStreamable ? "sse" : "streamable"],
    seats: hub.seats,
    knowledge,
    open: (listener, onEnd) => server.open(listener, onEnd),
    maxMessageBytes,
    maxSessions,
    idleMs: timeouts.sessionIdle,
    stateless: null,
  });
  const clients = joinSides([through, host]);

  return {
    ...clients,
    isReady: () => server.watch.isThere,
    visit: (visit) => clients.visit(visit) || (!isGuarded && oauth.visit(visit)),
    destroy() {
      clients.destroy();
      server.close();
    },
  };
}

/** Ignores the response. */
const DEAF: UpstreamListener = { head: () => {}, body: () => {}, done: () => {}, failed: () => {} };

/** A compressed body could not be judged. */
const ENCODING = "Accept-Encoding: identity\r\n";
