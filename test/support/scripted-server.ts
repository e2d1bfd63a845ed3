import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { AddressInfo } from "node:net";
import type { Headers } from "./raw-http.ts";

/** A message of JSON-RPC, read leniently. */
interface Said {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** A request as a server hears it. */
export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  /** The value of a header; values that stand more than once are joined with a bar. */
  header(name: string): string | undefined;
  readonly body: Buffer;
  /** The message in the body; undefined where there is none. */
  readonly message: Said | undefined;
  readonly socket: Socket;
  /** Writes bytes as they are. */
  write(bytes: string | Buffer): void;
  /** Answers with JSON. */
  json(value: unknown, headers?: string): void;
  /** Begins an event stream in chunks, and sends bytes in it. */
  events(...chunks: (string | Buffer)[]): void;
  /** A chunk of that stream. */
  chunk(bytes: string | Buffer): void;
  /** The end of that stream. */
  end(): void;
  /** Answers like a good server would. */
  behave(): void;
}

/** A server that a test tells what to say, byte for byte. */
export interface ScriptedServer {
  readonly port: number;
  readonly url: string;
  /** All it has heard since it was last told to forget. */
  readonly heard: Heard[];
  /** The requests with this method in their body. */
  calls(method: string): Heard[];
  /** How it answers from now on; undefined for like a good server. */
  script: ((heard: Heard) => void) | undefined;
  readonly sockets: ReadonlySet<Socket>;
  /** Closes the door and all connections. */
  close(): void;
}

/** What a good server does. */
export interface Manners {
  readonly tools?: readonly string[];
  readonly port?: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** The id it gives to sessions; null for none. */
  readonly session?: string | null;
  readonly script?: (heard: Heard) => void;
}

/** A tool as servers list it. */
export function tool(name: string): object {
  return { name, inputSchema: { type: "object" } };
}

/** Starts a server. */
export async function startScripted(manners: Manners = {}): Promise<ScriptedServer> {
  const heard: Heard[] = [];
  const sockets = new Set<Socket>();
  const onSocket = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    readRequests(socket, (request) => {
      const one = hear(socket, request, manners);
      heard.push(one);
      (self.script ?? behave)(one);
    });
  };
  const server: Server = manners.tls === undefined ? createServer(onSocket) : createTlsServer(manners.tls, onSocket);
  await new Promise<void>((resolve) => {
    server.listen(manners.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const self: ScriptedServer = {
    port,
    url: `${manners.tls === undefined ? "http" : "https"}://127.0.0.1:${port}/mcp`,
    heard,
    calls: (method) => heard.filter(({ message }) => message?.method === method),
    script: manners.script,
    sockets,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return self;
}

function behave(heard: Heard): void {
  heard.behave();
}

interface Request {
  readonly head: string;
  readonly body: Buffer;
}

/** Reads requests one after the other. All of ours have a length or no body. */
function readRequests(socket: Socket, take: (request: Request) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = bytes.toString("latin1", 0, end);
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      if (bytes.length < end + 4 + length) return;
      const body = Buffer.from(bytes.subarray(end + 4, end + 4 + length));
      bytes = bytes.subarray(end + 4 + length);
      take({ head, body });
    }
  });
}

function hear(socket: Socket, { head, body }: Request, manners: Manners): Heard {
  const [first, ...lines] = head.split("\r\n");
  const [method, path] = first.split(" ");
  const headers: Headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  let message: Said | undefined;
  try {
    message = JSON.parse(body.toString("utf8")) as Said;
  } catch {
    // It has none.
  }
  const self: Heard = {
    method,
    path,
    headers,
    header: (name) =>
      headers
        .filter(([each]) => each.toLowerCase() === name.toLowerCase())
        .map(([, value]) => value)
        .join("|") || undefined,
    body,
    message,
    socket,
    write: (bytes) => void socket.write(bytes),
    json(value, more = "") {
      const text = Buffer.from(JSON.stringify(value));
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${more}Content-Length: ${text.length}\r\n\r\n`,
      );
      socket.write(text);
    },
    events(...chunks) {
      socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (const bytes of chunks) self.chunk(bytes);
    },
    chunk(bytes) {
      const data = Buffer.from(bytes);
      socket.write(Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from("\r\n")]));
    },
    end: () => void socket.write("0\r\n\r\n"),
    behave: () => answerWell(self, manners),
  };
  return self;
}

const NO_STREAM = "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n";
const TAKEN = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
const DONE = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

function answerWell(heard: Heard, { tools = ["safe_tool", "denied_tool"], session = "s-1" }: Manners): void {
  const { method, message } = heard;
  if (method === "GET") return heard.write(NO_STREAM);
  if (method === "DELETE") return heard.write(DONE);
  if (message?.method === undefined || message.id === undefined) return heard.write(TAKEN);
  const answer = (result: unknown, headers = ""): void =>
    heard.json({ jsonrpc: "2.0", id: message.id, result }, headers);
  switch (message.method) {
    case "initialize":
      return answer(
        {
          protocolVersion: message.params?.["protocolVersion"] ?? "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "scripted", version: "1" },
        },
        session === null ? "" : `Mcp-Session-Id: ${session}\r\n`,
      );
    case "tools/list":
      return answer({ tools: tools.map(tool) });
    default:
      return answer({});
  }
}
