import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Random } from "../fuzz/random.ts";
import type { Spoken } from "./peers.ts";
import { resultFor } from "./scripted-http.ts";

/** How a response is framed, cut and ended. */
export interface Manner {
  readonly bytes: number;
  readonly kind: "json" | "event";
  readonly framing: "length" | "chunked" | "until-end";
  /** How many writes it comes in, and how long each waits for the one before. */
  readonly writes: number;
  readonly pauseMs: number;
  /** What happens to the connection behind it, or in the middle of it. */
  readonly end: "kept" | "closed" | "half-closed" | "reset-within" | "ended-within" | "more-behind";
}

/** A server that answers every call as its arguments say, and notes what it was asked. */
export interface WaywardServer {
  readonly url: string;
  /** The token of every call that has reached it. */
  readonly calls: readonly string[];
  /** Connections that are open. */
  open(): number;
  close(): Promise<void>;
}

const SIZES = [0, 1, 1000, 16_000, 16_384, 65_536, 70_000, 200_000, 1_000_000];

/** Makes up a manner. */
export function anyManner(random: Random): Manner {
  return {
    bytes: random.pick(SIZES),
    kind: random.pick(["json", "event"]),
    framing: random.pick(["length", "chunked", "until-end"]),
    writes: random.pick([1, 1, 2, 7]),
    pauseMs: random.pick([0, 1, 20]),
    end: random.pick(["kept", "kept", "kept", "closed", "half-closed", "reset-within", "ended-within", "more-behind"]),
  };
}

/** Starts one. */
export async function startWayward(): Promise<WaywardServer> {
  const calls: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let pending = "";
    let turn = Promise.resolve();
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      pending += chunk.toString("latin1");
      for (let end = pending.indexOf("\r\n\r\n"); end >= 0; end = pending.indexOf("\r\n\r\n")) {
        const head = pending.slice(0, end);
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (pending.length < end + 4 + length) return;
        const body = pending.slice(end + 4, end + 4 + length);
        pending = pending.slice(end + 4 + length);
        turn = turn.then(() => answer(socket, head, body, calls));
      }
    });
  });
  await new Promise<void>((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    calls,
    open: () => sockets.size,
    close: () =>
      new Promise((closed) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => closed());
      }),
  };
}

async function answer(socket: Socket, head: string, body: string, calls: string[]): Promise<void> {
  const message = (body === "" ? {} : JSON.parse(body)) as Spoken;
  if (message.method !== "tools/call") {
    if (!head.startsWith("POST")) return void socket.write("HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n");
    if (message.id === undefined) return void socket.write("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    const text = JSON.stringify(resultFor(message));
    const session = message.method === "initialize" ? "Mcp-Session-Id: wayward\r\n" : "";
    const headers = `Content-Type: application/json\r\n${session}Content-Length: ${text.length}\r\n`;
    return void socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n${text}`);
  }
  const { token, manner } = (message.params?.["arguments"] ?? {}) as { token: string; manner: Manner };
  calls.push(token);
  const bytes = compose(message, token, manner);
  const size = Math.ceil(bytes.length / manner.writes);
  const cut = manner.end === "reset-within" || manner.end === "ended-within" ? Math.floor(bytes.length / 2) : Infinity;
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    socket.write(bytes.subarray(at, Math.min(at + size, cut)));
    if (at + size >= cut) break;
    if (manner.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, manner.pauseMs));
  }
  if (manner.end === "reset-within") socket.resetAndDestroy();
  else if (manner.end === "closed") socket.destroySoon();
  else if (manner.end === "more-behind" && manner.framing !== "until-end")
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nunasked`);
  else if (manner.end !== "kept" || manner.framing === "until-end") socket.end();
}

function compose({ id }: Spoken, token: string, { bytes, kind, framing }: Manner): Buffer {
  const result = { token, text: "x".repeat(bytes) };
  const text = JSON.stringify({ jsonrpc: "2.0", id, result });
  const body = kind === "json" ? text : `event: message\ndata: ${text}\n\n`;
  const type = kind === "json" ? "application/json" : "text/event-stream";
  const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n`;
  if (framing === "length") return Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  if (framing === "until-end") return Buffer.from(`${head}Connection: close\r\n\r\n${body}`);
  const middle = Math.floor(body.length / 2);
  const chunks = [body.slice(0, middle), body.slice(middle)].filter((part) => part !== "");
  const framed = chunks.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join("");
  return Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n${framed}0\r\n\r\n`);
}
