import { HEADERS } from "../../message/protocol.ts";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { ProxyError } from "../../errors.ts";
import type { Tap } from "../../wire/tap.ts";
import { networkOf } from "../network.ts";
import { createShares, type Shares } from "../shares.ts";
import { type ClientHead, readClientHead } from "./client-head.ts";
import type { Gate, Principal } from "./gate-answer.ts";
import { allowedOrigin, answerPreflight, type Guests, isPreflight, knowsHost } from "./guests.ts";
import { listen } from "./listen.ts";
import { createOwed } from "./owed.ts";
import { createPipeline } from "./pipeline.ts";
import { replyError } from "./reply.ts";
import { tapExchange } from "./tapped.ts";

/** One HTTP request that was admitted. */
export interface Visit {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** With its question mark; empty if there is none. */
  readonly query: string;
  readonly head: ClientHead;
  /** The authenticated client, if authentication is configured. */
  readonly principal: Principal | null;
  /** The client's identity, or else its network. Limits per client are counted by this. */
  readonly client: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Marks the response as a long-lived stream, so that a shutdown does not wait for its end. */
  stands(): void;
}

/** The HTTP server for clients. */
export interface Door {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** Stops accepting connections and lets requests in progress end. Resolves when all connections are closed. */
  drain(): Promise<void>;
  /** Resolves when every message received so far has been answered. */
  answered(): Promise<void>;
  /** Answers all open requests with an error. */
  refuse(error: { readonly code: number; readonly message: string }): void;
  /** Closes everything at once. */
  close(): void;
}

/** Options of a door. */
export interface DoorOptions {
  readonly host: string;
  readonly port: number;
  /** PEM texts, if clients are to use https. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly guests: Guests;
  readonly gate: Gate | null;
  /** The lower-case name of the header that identifies the client; null if there is none. */
  readonly identityHeader: string | null;
  /** Paths that need no authentication: the documents that describe how to get it. */
  readonly isOpen: (path: string) => boolean;
  /** The URL of the metadata that names the token issuer. Only used with a gate. */
  readonly metadataUrl: (host: string) => string;
  /** Lower-case names of client headers that are not forwarded. */
  readonly without: ReadonlySet<string>;
  readonly isReady: () => boolean;
  readonly onVisit: (visit: Visit) => void;
  /** `refusal` describes the refused client, if authentication failed. */
  readonly onTrouble: (rule: string, text: string, refusal?: DoorRefusal) => void;
  readonly maxConnections: number;
  /** Receives a copy of requests and responses; null if nothing is attached. */
  readonly tap?: Tap | null;
  readonly times?: DoorTimes;
}

/** A request that was refused before its body was read. */
export interface DoorRefusal {
  readonly status: number;
  readonly reason: string;
  /** The client's address; null if the connection is closed. */
  readonly address: string | null;
}

/** Timeouts for clients, in milliseconds. */
export interface DoorTimes {
  /** For the head of a request, and for the TLS handshake. */
  readonly head: number;
  /** For a whole request. */
  readonly request: number;
  /** Between two requests. */
  readonly between: number;
  /** How often the timeouts are checked. */
  readonly check: number;
}

// A slow client occupies a connection, and their number is limited. The timeout between requests is longer than that of
// usual clients and load balancers, so that they close first.
const DOOR_TIMES: DoorTimes = { head: 10_000, request: 60_000, between: 65_000, check: 5000 };
const MAX_HEADER_BYTES = 32_768;

/** Opens a door. Rejects with a ProxyError if that fails. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const times = options.times ?? DOOR_TIMES;
  const settings = {
    headersTimeout: times.head,
    requestTimeout: times.request,
    keepAliveTimeout: times.between,
    maxHeaderSize: MAX_HEADER_BYTES,
    connectionsCheckingInterval: times.check,
    noDelay: true,
  };
  const owed = createOwed();
  const silent = new Set<Socket>(); // connections that have not sent a request yet
  const connections = createShares(options.maxConnections);
  const requests = createShares(options.maxConnections);
  let isDraining = false;
  const pass = createPipeline({
    enter(request, response: Admitted, { network }) {
      if (request.method !== "GET") owed.add(response);
      if (isDraining) response.shouldKeepAlive = false; // the last response on its connection
      enter(request, response, options, { network, requests, stands: owed.settle });
    },
    leave(response: Admitted) {
      owed.settle(response);
      const { [CLIENT]: client } = response;
      if (client !== undefined) requests.give(client);
    },
    excess: () => options.onTrouble("http:pipeline", "closed a connection: too many requests were sent on it at once"),
    waitMs: times.request,
  });
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    silent.delete(request.socket);
    if (options.tap != null) tapExchange(options.tap, request, response);
    pass(request, response);
  };
  let server: Server;
  if (options.tls === null) server = createServer(settings, onRequest);
  else {
    const https = await import("node:https");
    try {
      server = https.createServer({ ...settings, handshakeTimeout: times.head, ...options.tls }, onRequest);
    } catch (cause) {
      const remedy = "Give --tls-cert and --tls-key PEM files that belong together";
      throw new ProxyError("BAD_CERTIFICATE", "Cannot use the certificate or its key", remedy, { cause });
    }
  }
  server.maxConnections = options.maxConnections;
  // There is no "upgrade" listener: some clients offer HTTP/2 and continue with HTTP/1.1 if the offer is ignored.
  server.on(options.tls === null ? "connection" : "secureConnection", (socket: Socket) => {
    silent.add(socket);
    socket.once("close", () => silent.delete(socket));
  });
  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress);
    if (connections.take(network)) return void socket.once("close", () => connections.give(network));
    socket.destroy();
    options.onTrouble("http:connections", "refused a connection: its address has too many");
  });
  server.on("connect", (_, socket: Socket) => socket.destroy());
  server.on("drop", () => options.onTrouble("http:connections", "refused a connection: there are too many"));
  await listen(server, options);
  // If file descriptors run out, a new connection cannot be accepted; the others stay open.
  server.on("error", (error: Error) =>
    options.onTrouble("http:accept", `could not accept a connection: ${error.message}`),
  );
  const { address, port } = server.address() as AddressInfo;
  const shown = address.includes(":") ? `[${address}]` : address;
  return {
    host: address,
    port,
    url: `${options.tls === null ? "http" : "https"}://${shown}:${port}`,
    async drain() {
      isDraining = true;
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeIdleConnections();
      // A kept-alive connection closes after its last response. Node treats a connection without any request as busy:
      // it gets a moment to send its first request.
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      const hush = setTimeout(() => {
        for (const socket of silent) socket.destroy();
      }, FIRST_SENTENCE_MS);
      await closed.finally(() => {
        clearInterval(sweep);
        clearTimeout(hush);
      });
    },
    async answered() {
      while (!owed.isEmpty) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    refuse(error) {
      for (const response of owed.all()) replyError(response, 503, error, null);
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const FIRST_SENTENCE_MS = 500;

const CLIENT = Symbol("client");
/** A response, with the client whose share of open requests it counts for. */
type Admitted = ServerResponse & { [CLIENT]?: string };

/** What is known when a request arrives. */
interface Threshold {
  readonly network: string;
  readonly requests: Shares;
  readonly stands: (response: Admitted) => void;
}

/** Checks who sends a request before reading its body. */
function enter(
  request: IncomingMessage,
  response: Admitted,
  options: DoorOptions,
  { network, requests, stands }: Threshold,
): void {
  const { guests, gate, onTrouble } = options;
  const head = readClientHead(request.rawHeaders, options.without, options.identityHeader);
  const target = request.url ?? "";
  const method = request.method ?? "";
  const question = target.indexOf("?");
  const path = question < 0 ? target : target.slice(0, question);
  response.sendDate = false;
  const turnAway = (status: number, rule: string, message: string): void => {
    onTrouble(rule, `refused a request: ${message}`, refusalOf(request, status, message));
    replyError(response, status, { code: -32000, message }, null);
  };
  if (!target.startsWith("/")) return turnAway(400, "http:target", "Bad request target");
  if (head.doubtful !== null) return turnAway(400, "http:ambiguous-header", "Ambiguous header");
  if (head.sessionId !== null && !SESSION_ID.test(head.sessionId)) {
    return turnAway(400, "http:session-id", "Invalid Mcp-Session-Id header");
  }
  if (!knowsHost(guests, head.host)) return turnAway(403, "http:host", "Invalid Host header");
  if (head.origin !== null) {
    const origin = allowedOrigin(guests, head);
    if (origin === null) return turnAway(403, "http:origin", "Invalid Origin header");
    if (isPreflight(request)) return answerPreflight(response, origin);
    for (const [name, value] of CORS(origin)) response.setHeader(name, value);
  }
  // A browser's request for an image or a script has no Origin header, but another site may have caused it.
  if (head.origin === null && (head.fetchSite === "cross-site" || head.fetchSite === "same-site")) {
    return turnAway(403, "http:origin", "Invalid Origin header");
  }
  if (path === "/healthz") return replyPlain(response, 200, "ok\n");
  if (path === "/readyz")
    return options.isReady() ? replyPlain(response, 200, "ready\n") : replyPlain(response, 503, "not ready\n");
  const visit = (principal: Principal | null): void => {
    const client = principal?.id ?? head.identity ?? network;
    if (!requests.take(client)) {
      response.setHeader("Retry-After", "1");
      return turnAway(503, "http:requests", "Too many requests at once");
    }
    response[CLIENT] = client;
    const query = question < 0 ? "" : target.slice(question);
    const stand = (): void => stands(response);
    options.onVisit({ method, path, query, head, principal, client, request, response, stands: stand });
  };
  if (gate === null || options.isOpen(path)) return visit(null);
  const decide = (admitted: Awaited<ReturnType<Gate["admit"]>>): void => {
    if ("id" in admitted) return visit(admitted);
    const { challenge, status } = admitted;
    const message = status === 401 ? "Unauthorized" : "Forbidden";
    const refusal = refusalOf(request, status, message);
    onTrouble("http:unauthorized", `refused a request with status ${status}`, refusal);
    const metadata = `resource_metadata="${options.metadataUrl(head.host ?? "")}"`;
    response.setHeader("WWW-Authenticate", `${challenge}${challenge.includes(" ") ? ", " : " "}${metadata}`);
    replyError(response, status, { code: -32000, message }, null);
  };
  const admitted = gate.admit(head.authorization);
  if (!(admitted instanceof Promise)) return decide(admitted);
  admitted.then(decide, () => turnAway(401, "http:unauthorized", "Unauthorized"));
}

function refusalOf({ socket }: IncomingMessage, status: number, reason: string): DoorRefusal {
  return { status, reason, address: socket.remoteAddress ?? null };
}

/** Streamable HTTP, "Session Management" 1: visible ASCII. The length is limited because ids are kept. */
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

const CORS = (origin: string): readonly (readonly [string, string])[] => [
  ["Access-Control-Allow-Origin", origin],
  ["Access-Control-Expose-Headers", `${HEADERS.session}, ${HEADERS.version}, WWW-Authenticate`],
  ["Vary", "Origin"],
];

function replyPlain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "Content-Type": "text/plain",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": text.length,
  });
  response.end(text);
}
