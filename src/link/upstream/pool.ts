import type { Socket } from "node:net";
import { ConnectionError, ProxyError } from "../../errors.ts";
import type { ResponseHead } from "../../wire/http-head.ts";
import type { ResponseSink } from "../../wire/http-response.ts";
import type { Tap } from "../../wire/tap.ts";
import { leaveTogether } from "../leave-together.ts";
import { createShares } from "../shares.ts";
import type { Address } from "./address.ts";
import { headerOf } from "./head.ts";
import { type ConnectOptions, openConnection } from "./connect.ts";
import { type Connection, createConnection, hold } from "./connection.ts";
import { tapRequest } from "./tapped.ts";
import { writeRequest } from "./write-request.ts";

/** A request to a server. */
export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  /** Header lines, each with its CRLF. Host and Content-Length are added. */
  readonly headers: string;
  readonly body: Buffer | null;
  /** The client that it belongs to, so that one client does not use all connections. */
  readonly client?: string;
  /** Called when the body has been written and is not kept any more. */
  readonly onSent?: () => void;
}

/** Options of a pool. */
export interface PoolOptions extends ConnectOptions {
  /** How many requests may be open at once, each on a connection of its own. */
  readonly maxConnections?: number;
  /** Called when a request cannot be sent because connections or file descriptors have run out. */
  readonly onShortage?: (detail: string) => void;
  /** Receives a copy of requests and responses; null if nothing is attached. */
  readonly tap?: Tap | null;
}

/** Receives the response. Nothing is called after `done` or `failed`. */
export interface UpstreamListener {
  head(head: ResponseHead): void;
  body(bytes: Buffer): void;
  done(): void;
  failed(error: ConnectionError): void;
}

/** A request in progress. */
export interface UpstreamCall {
  /** Aborts it. The listener is not called any more. */
  abort(): void;
  pause(): void;
  resume(): void;
}

/** Reusable connections to one server. */
export interface Pool {
  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall;
  /** Whether the server can be reached now. With `isDoubtful`, an existing connection is not taken as proof. */
  probe(isDoubtful?: boolean): Promise<boolean>;
  close(): void;
}

/** The default limit for open requests. */
const MAX_CONNECTIONS = 10_000;
/** How many idle connections are kept. */
const MAX_IDLE = 64;
/** Servers usually close connections that are idle for five seconds. The pool closes them before that. */
const IDLE_MS = 4000;
const SWEEP_MS = 1000;

/** Makes a pool. `onTrouble` is called when a connection breaks or cannot be opened: the server may be gone. */
export function createPool(address: Address, options: PoolOptions, onTrouble: () => void): Pool {
  const places = createShares(options.maxConnections ?? MAX_CONNECTIONS);
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
    const { socket } = connection;
    // Bytes that have arrived already do not belong to a request. The next request would take them for its response.
    const isSpoilt = socket.readableLength > 0;
    if (isClosed || isSpoilt || idle.length >= MAX_IDLE || idleLimitMs <= 0) return void socket.destroy();
    // The last response may have ended while the connection was paused. Without this the next response would never be
    // read.
    if (socket.isPaused()) hold(connection, false);
    connection.isIdle = true;
    connection.idleUntil = Date.now() + idleLimitMs;
    idle.push(connection);
    sweeper ??= setInterval(sweep, SWEEP_MS).unref();
  }

  /**
   * Closes connections that have been idle for too long. Checked periodically: a timer for each would cost more than
   * the rest.
   */
  function sweep(): void {
    const now = Date.now();
    for (const connection of idle.filter(({ idleUntil }) => idleUntil <= now)) connection.socket.destroy();
  }

  function adopt(socket: Socket): Connection {
    const connection = createConnection(socket);
    socket.on("close", (hadError: boolean) => {
      const wasIdle = connection.isIdle;
      connection.isIdle = false;
      if (wasIdle) idle.splice(idle.indexOf(connection), 1);
      connection.reader.end(hadError);
      if (wasIdle && !isClosed && hadError) onTrouble();
    });
    return connection;
  }

  return {
    send(request, listener) {
      // Do not use `request` below: a closure over it would keep the body in memory.
      const { method, path, headers, client = "", onSent } = request;
      let { body } = request;
      const length = body === null ? "" : `Content-Length: ${body.length}\r\n`;
      let current: Connection | undefined;
      let isOver = false;
      let isPaused = false;

      function end(): void {
        isOver = true;
        body = null;
        places.give(client);
      }

      function fail(error: ConnectionError): void {
        if (isOver) return;
        end();
        if (error.code === "NO_ROOM") options.onShortage?.(error.internalDetails);
        else if (!isClosed) onTrouble();
        listener.failed(error);
      }

      function sent(): void {
        body = null;
        onSent?.();
      }

      function use(connection: Connection, isReused: boolean): void {
        current = connection;
        let hasLeft = false;
        let isAnswered = false;
        let idleLimitMs = IDLE_MS;
        const tapped = options.tap == null ? null : tapRequest(options.tap);
        const sink: ResponseSink = {
          head(head) {
            isAnswered = true;
            if (!hasLeft) {
              connection.socket.destroy();
              return fail(new ConnectionError("INVALID_RESPONSE", "Connection lost", "a response before its request"));
            }
            idleLimitMs = idleLimit(head);
            if (!isOver) listener.head(head);
          },
          body(bytes) {
            if (!isOver) listener.body(bytes);
          },
          done(isReusable) {
            current = undefined;
            if (isReusable && !isOver) keep(connection, idleLimitMs);
            else connection.socket.destroy();
            if (isOver) return;
            end();
            listener.done();
          },
          fault(reason) {
            connection.socket.destroy();
            if (isOver) return;
            // The server closed a kept connection, perhaps at the very moment it was reused. A request that may have
            // been processed must not be repeated, so only GET is retried.
            if (isReused && !isAnswered && reason === "the connection closed" && method === "GET") {
              return void open();
            }
            const code = reason === "the connection closed" && !isAnswered ? "REFUSED" : "INVALID_RESPONSE";
            fail(new ConnectionError(code, "Connection lost", reason));
          },
        };
        connection.reader.expect(tapped === null ? sink : tapped.watch(sink), method);
        if (isPaused) hold(connection, true);
        const leave = (): void => {
          if (isOver) return;
          hasLeft = true;
          const lines = `Host: ${address.authority}\r\n${headers}${length}`;
          tapped?.sent(method, path, lines, body);
          writeRequest(connection.socket, `${method} ${path} HTTP/1.1\r\n${lines}\r\n`, body, sent);
        };
        // POST bodies are written in batches; other requests are sent at once.
        if (body === null) leave();
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

      if (!places.take(client)) {
        queueMicrotask(() => {
          if (isOver) return;
          options.onShortage?.(TOO_MANY.internalDetails);
          listener.failed(TOO_MANY);
        });
        return { abort: () => (isOver = true), pause: () => {}, resume: () => {} };
      }
      const kept = takeIdle();
      if (kept !== undefined) use(kept, true);
      else void open();

      return {
        abort() {
          if (!isOver) end();
          current?.socket.destroy();
        },
        pause() {
          isPaused = true;
          if (current !== undefined) hold(current, true);
        },
        resume() {
          isPaused = false;
          if (current !== undefined) hold(current, false);
        },
      };
    },
    async probe(isDoubtful = false) {
      // A connection that is open proves that the server can be reached.
      const kept = isDoubtful ? undefined : idle.at(-1);
      if (kept !== undefined && !kept.socket.destroyed) return true;
      try {
        const socket = await openConnection(address, { ...options, timeoutMs: Math.min(options.timeoutMs, PROBE_MS) });
        keep(adopt(socket), IDLE_MS);
        return true;
      } catch (error) {
        // A server that is slow to accept connections is not considered lost.
        return error instanceof ConnectionError && (error.code === "TIMEOUT" || error.code === "NO_ROOM");
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
const TOO_MANY = new ConnectionError(
  "NO_ROOM",
  "Too many requests at once",
  "all connections to the server are in use",
);

/** How long the server keeps an idle connection, minus a second so that the pool closes it first. */
function idleLimit(head: ResponseHead): number {
  const match = /timeout=(\d+)/.exec(headerOf(head, "keep-alive") ?? "");
  return match === null ? IDLE_MS : Math.min(60_000, Number(match[1]) * 1000 - 1000);
}
