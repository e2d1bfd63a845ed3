import type { Socket } from "node:net";
import { ConnectionError, ProxyError } from "../../errors.ts";
import type { ResponseHead } from "../../wire/http-head.ts";
import { createResponseReader, type ResponseReader } from "../../wire/http-response.ts";
import { leaveTogether } from "../leave-together.ts";
import type { Address } from "./address.ts";
import { headerOf } from "./head.ts";
import { type ConnectOptions, openConnection } from "./connect.ts";

/** A request to a server. */
export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  /** Header lines, each with its CRLF. Host and Content-Length are added. */
  readonly headers: string;
  readonly body: Buffer | null;
}

/** Who hears of the response. After `done` or `failed` nothing more comes. */
export interface UpstreamListener {
  head(head: ResponseHead): void;
  body(bytes: Buffer): void;
  done(): void;
  failed(error: ConnectionError): void;
}

/** A request on its way. */
export interface UpstreamCall {
  /** Ends it. The listener hears nothing more. */
  abort(): void;
  pause(): void;
  resume(): void;
}

/** Connections to one server, used again and again. */
export interface Pool {
  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall;
  /** Whether the server can be reached right now. With `isDoubtful`, connections that stand prove nothing. */
  probe(isDoubtful?: boolean): Promise<boolean>;
  close(): void;
}

interface Connection {
  readonly socket: Socket;
  readonly reader: ResponseReader;
  isIdle: boolean;
  /** When it has been idle for too long. */
  idleUntil: number;
}

/** Connections kept for later. */
const MAX_IDLE = 64;
/** Servers close what is idle for five seconds; we do so first. */
const IDLE_MS = 4000;
const SWEEP_MS = 1000;

/** Makes a pool. `onTrouble` is told when a connection breaks or cannot be made: the server may be gone. */
export function createPool(address: Address, options: ConnectOptions, onTrouble: () => void): Pool {
  const idle: Connection[] = [];
  let sweeper: NodeJS.Timeout | null = null;
  let isClosed = false;

  function takeIdle(): Connection | undefined {
    const now = Date.now();
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      connection.isIdle = false;
      if (now < connection.idleUntil && !connection.socket.destroyed) return connection;
      connection.socket.destroy();
    }
    return undefined;
  }

  function keep(connection: Connection, idleLimitMs: number): void {
    if (isClosed || idle.length >= MAX_IDLE || idleLimitMs <= 0) return void connection.socket.destroy();
    connection.isIdle = true;
    connection.idleUntil = Date.now() + idleLimitMs;
    idle.push(connection);
    sweeper ??= setInterval(sweep, SWEEP_MS).unref();
  }

  /** Closes what has been idle for too long. One look now and then: a timer for each would cost more than the rest. */
  function sweep(): void {
    const now = Date.now();
    for (const connection of idle.filter(({ idleUntil }) => idleUntil <= now)) connection.socket.destroy();
  }

  function adopt(socket: Socket): Connection {
    const connection: Connection = { socket, reader: createResponseReader(), isIdle: false, idleUntil: 0 };
    socket.on("data", (chunk: Buffer) => {
      if (connection.isIdle) socket.destroy(); // nobody asked
      else connection.reader.push(chunk);
    });
    socket.on("error", () => {}); // "close" follows
    socket.on("close", (hadError: boolean) => {
      const wasIdle = connection.isIdle;
      connection.isIdle = false;
      if (wasIdle) idle.splice(idle.indexOf(connection), 1);
      connection.reader.end();
      if (wasIdle && !isClosed && hadError) onTrouble();
    });
    socket.on("end", () => socket.destroy());
    return connection;
  }

  return {
    send(request, listener) {
      let current: Connection | undefined;
      let isOver = false;
      let isPaused = false;

      function fail(error: ConnectionError): void {
        if (isOver) return;
        isOver = true;
        if (!isClosed) onTrouble();
        listener.failed(error);
      }

      function use(connection: Connection, isReused: boolean): void {
        current = connection;
        let isAnswered = false;
        let idleLimitMs = IDLE_MS;
        connection.reader.expect(
          {
            head(head) {
              isAnswered = true;
              idleLimitMs = idleLimit(head);
              if (!isOver) listener.head(head);
            },
            body(bytes) {
              if (!isOver) listener.body(bytes);
            },
            done(isReusable) {
              current = undefined;
              // Whoever paused it resumes it through `current`, and that is over: the next response would never be read.
              if (isPaused) connection.socket.resume();
              if (isReusable && !isOver) keep(connection, idleLimitMs);
              else connection.socket.destroy();
              if (isOver) return;
              isOver = true;
              listener.done();
            },
            fault(reason) {
              connection.socket.destroy();
              if (isOver) return;
              // A kept connection that the server closed, perhaps in the same moment and unseen. What may have
              // been done already must not be done twice, so only what changes nothing is asked again.
              if (isReused && !isAnswered && reason === "the connection closed" && request.method === "GET") {
                return void open();
              }
              const code = reason === "the connection closed" && !isAnswered ? "REFUSED" : "INVALID_RESPONSE";
              fail(new ConnectionError(code, "Connection lost", reason));
            },
          },
          request.method,
        );
        if (isPaused) connection.socket.pause();
        const leave = (): void => write(connection.socket, address, request);
        // Messages come in crowds. All else goes before whatever else is done now.
        if (request.body === null) leave();
        else leaveTogether(leave);
      }

      async function open(): Promise<void> {
        try {
          const socket = await openConnection(address, options);
          if (isOver || isClosed) socket.destroy();
          else use(adopt(socket), false);
        } catch (error) {
          fail(
            error instanceof ConnectionError
              ? error
              : new ConnectionError(
                  "REFUSED",
                  error instanceof ProxyError ? error.message : "Connection failed",
                  String(error),
                ),
          );
        }
      }

      const kept = takeIdle();
      if (kept !== undefined) use(kept, true);
      else void open();

      return {
        abort() {
          isOver = true;
          current?.socket.destroy();
        },
        pause() {
          isPaused = true;
          current?.socket.pause();
        },
        resume() {
          isPaused = false;
          current?.socket.resume();
        },
      };
    },
    async probe(isDoubtful = false) {
      // An answer a moment ago, or a connection that stands, says as much.
      const kept = isDoubtful ? undefined : idle.at(-1);
      if (kept !== undefined && !kept.socket.destroyed) return true;
      try {
        const socket = await openConnection(address, { ...options, timeoutMs: Math.min(options.timeoutMs, PROBE_MS) });
        keep(adopt(socket), IDLE_MS);
        return true;
      } catch (error) {
        // A server that is slow to accept is not lost.
        return error instanceof ConnectionError && error.code === "TIMEOUT";
      }
    },
    close() {
      isClosed = true;
      if (sweeper !== null) clearInterval(sweeper);
      for (const connection of idle.splice(0)) {
        connection.isIdle = false;
        connection.socket.destroy();
      }
    },
  };
}

const PROBE_MS = 5000;

/** How long a server lets a connection be idle, less a second so that we are the first to close it. */
function idleLimit(head: ResponseHead): number {
  const match = /timeout=(\d+)/.exec(headerOf(head, "keep-alive") ?? "");
  return match === null ? IDLE_MS : Math.min(60_000, Number(match[1]) * 1000 - 1000);
}

/** Writes a request, head and body in one piece where that is small. */
function write(socket: Socket, { authority }: Address, { method, path, headers, body }: UpstreamRequest): void {
  const length = body === null ? "" : `Content-Length: ${body.length}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${authority}\r\n${headers}${length}\r\n`;
  if (body === null || body.length === 0) socket.write(head, "latin1");
  else if (body.length > 65_536) {
    socket.cork();
    socket.write(head, "latin1");
    socket.write(body);
    socket.uncork();
  } else {
    const bytes = Buffer.allocUnsafe(head.length + body.length);
    bytes.write(head, 0, "latin1");
    body.copy(bytes, head.length);
    socket.write(bytes);
  }
}
