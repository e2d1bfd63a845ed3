import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Script } from "./script.ts";
import type { Outlet, ServerEnd } from "./server-end.ts";
import type { Stage } from "./stage.ts";

/** A server of Streamable HTTP. */
export interface HttpServerEnd extends ServerEnd {
  readonly url: string;
}

/** How it behaves. */
export interface HttpManners {
  /** Whether it gives its clients sessions. */
  readonly hasSessions: boolean;
  /** Whether it has a stream for what it says unasked. */
  readonly hasStream: boolean;
  /** Whether it replays events to everybody who names one, and not only in the session they were sent in. */
  readonly isLax: boolean;
}

/** A stream of events that can be resumed: what was sent, and the responses it leaves by. */
interface Stream extends Outlet {
  readonly name: string;
  readonly events: { readonly id: string; readonly text: string }[];
  readonly session: string | null;
  client: number | null;
  response: ServerResponse | null;
  isBegun: boolean;
  isResumed: boolean;
}

/** Starts one. */
export async function startHttpServer(stage: Stage, script: Script, manners: HttpManners): Promise<HttpServerEnd> {
  const streams: Stream[] = [];
  const eventIds: string[] = [];
  const sessions = new Map<string, number | "own" | null>(); // by whom they were opened
  let sockets = new Set<Socket>();
  let isAlive = true;
  let count = 0;

  function createStream(session: string | null, client: number | null, response: ServerResponse): Stream {
    const stream: Stream = {
      name: `e${streams.length}`,
      events: [],
      session,
      client,
      response,
      isBegun: false,
      isResumed: false,
      get isOpen() {
        return stream.response !== null;
      },
      get isBare() {
        return stream.response !== null && !stream.isBegun;
      },
      get isKept() {
        return stream.events.length > 0;
      },
      say(text, hasId) {
        const id = hasId || stream.isKept ? `${stream.name}_${stream.events.length}` : null;
        if (id !== null) {
          stream.events.push({ id, text });
          eventIds.push(id);
        }
        if (stream.response === null) return;
        begin(stream);
        // A client that has to come back is told to do so at once.
        stream.response.write(`${id === null ? "" : `id: ${id}\nretry: 0\n`}data: ${text}\n\n`);
      },
      respond(text, status) {
        const { response: bare } = stream;
        if (bare === null || stream.isBegun) return;
        const given = opened !== null && manners.hasSessions ? { "Mcp-Session-Id": opened } : {};
        stream.response = null;
        bare.writeHead(status, { "Content-Type": "application/json", ...given });
        bare.end(text);
      },
      end() {
        const { response: last } = stream;
        if (last === null) return;
        begin(stream);
        stream.response = null;
        last.end();
      },
      break() {
        const { response: last } = stream;
        stream.response = null;
        last?.destroy();
      },
    };
    streams.push(stream);
    follow(stream, response);
    return stream;
  }

  let opened: string | null = null; // the session that a greeting opens, while it is answered

  function follow(stream: Stream, response: ServerResponse): void {
    response.on("close", () => {
      stage.pulse.beat();
      if (stream.response === response) stream.response = null;
    });
  }

  function begin(stream: Stream): void {
    if (stream.isBegun || stream.response === null) return;
    stream.isBegun = true;
    stream.response.writeHead(200, { "Content-Type": "text/event-stream" });
    stream.response.flushHeaders();
  }

  function serve(request: IncomingMessage, response: ServerResponse, body: string): void {
    const session = (request.headers["mcp-session-id"] as string | undefined) ?? null;
    const isKnown = session === null || sessions.has(session);
    if (!isKnown) {
      stage.note(`server does not know session ${session}`);
      for (const [, digits] of body.matchAll(/<q(\d+)>/g)) stage.ledger.asks[Number(digits)].isSpoilt = true;
      return void response.writeHead(404, { "Content-Type": "application/json" }).end(NOT_FOUND);
    }
    const owner = session === null ? null : (sessions.get(session) ?? null);
    const client = typeof owner === "number" ? owner : null;
    if (request.method === "GET") return serveStream(request, response, session, client);
    if (request.method === "DELETE") {
      stage.note(`server ends session ${session}`);
      if (session !== null) sessions.delete(session);
      return void response.writeHead(200).end();
    }
    const isGreeting = body.includes('"method":"initialize"');
    opened = isGreeting && session === null ? `session-${++count}` : null;
    const [, asked] = /<q(\d+)>/.exec(body) ?? [];
    const asking = asked === undefined ? client : stage.ledger.asks[Number(asked)].client;
    const stream = createStream(opened ?? session, asking, response);
    const isOwn = body.includes('"fairlead"');
    if (opened !== null) sessions.set(opened, isOwn ? "own" : null);
    const name = opened;
    const { requests, greets } = script.receive(body, stream, false);
    if (name !== null && greets !== null) sessions.set(name, greets === "own" ? "own" : greets.client);
    opened = null;
    if (requests > 0 || stream.response === null) return;
    stream.response = null;
    response.writeHead(202).end();
  }

  function serveStream(
    request: IncomingMessage,
    response: ServerResponse,
    session: string | null,
    client: number | null,
  ): void {
    const last = request.headers["last-event-id"];
    stage.note(
      `server is asked for ${last === undefined ? "a stream" : `what came after ${String(last)}`} in ${session}`,
    );
    if (last === undefined) {
      if (!manners.hasStream) return void response.writeHead(405).end();
      return begin(createStream(session, client, response));
    }
    const resumed = streams.find(({ events }) => events.some(({ id }) => id === last));
    if (resumed === undefined || (!manners.isLax && resumed.session !== session))
      return void response.writeHead(400).end();
    // As a server of the official SDK does. One that was resumed before may be taken over.
    if (resumed.response !== null && !resumed.isResumed) return void response.writeHead(409).end();
    resumed.response?.end();
    resumed.isResumed = true;
    resumed.response = response;
    resumed.client = client;
    resumed.isBegun = false;
    follow(resumed, response);
    begin(resumed);
    const at = resumed.events.findIndex(({ id }) => id === last);
    for (const { id, text } of resumed.events.slice(at + 1)) {
      stage.ledger.replay(text);
      response.write(`id: ${id}\nretry: 0\ndata: ${text}\n\n`);
    }
  }

  let server: Server;
  function listen(port: number): Promise<void> {
    server = createServer((request, response) => {
      stage.pulse.beat();
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => stage.hear(() => serve(request, response, Buffer.concat(chunks).toString("utf8"))));
      request.on("error", () => {});
    });
    sockets = new Set();
    server.on("connection", (socket) => {
      stage.pulse.beat();
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    });
    return new Promise((resolve) => {
      server.listen(port, "127.0.0.1", resolve);
    });
  }
  await listen(0);
  const { port } = server!.address() as AddressInfo;

  function die(): void {
    isAlive = false;
    server.close();
    for (const socket of sockets) socket.destroy();
  }

  return {
    url: `http://127.0.0.1:${port}/mcp`,
    outlets: () => streams.filter(({ isOpen, session }) => isOpen && sessions.get(session ?? "") !== "own"),
    eventIds,
    forget(client) {
      const known = [...sessions].filter(([, owner]) => owner === client);
      for (const [session] of known) sessions.delete(session);
      return known.length > 0;
    },
    die() {
      if (!isAlive) return false;
      die();
      return true;
    },
    async revive() {
      if (isAlive) return;
      isAlive = true;
      await listen(port);
    },
    get isAlive() {
      return isAlive;
    },
    close: die,
  };
}

const NOT_FOUND = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}';
