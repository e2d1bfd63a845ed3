import type { IncomingMessage, ServerResponse } from "node:http";

/** What went wrong, in the words of JSON-RPC. */
interface HttpError {
  readonly code: number;
  readonly message: string;
}

/** Refuses a request with an error that belongs to no message. */
export function replyError(response: ServerResponse, status: number, error: HttpError, allow: string | null): void {
  if (allow !== null) response.setHeader("Allow", allow);
  replyJson(response, status, Buffer.from(JSON.stringify({ jsonrpc: "2.0", error, id: null })), []);
}

/** Answers with JSON. `headers` are names and values by turns. */
export function replyJson(response: ServerResponse, status: number, body: Buffer, headers: readonly string[]): void {
  if (response.headersSent || response.destroyed) return;
  discard(response.req);
  for (let index = 0; index < headers.length; index += 2) response.appendHeader(headers[index], headers[index + 1]);
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": body.length });
  finish(response, body);
}

/** Answers without a body. */
export function replyEmpty(response: ServerResponse, status: number, headers: readonly string[]): void {
  if (response.headersSent || response.destroyed) return;
  discard(response.req);
  for (let index = 0; index < headers.length; index += 2) response.appendHeader(headers[index], headers[index + 1]);
  response.writeHead(status, status === 204 ? {} : { "Content-Length": 0 });
  finish(response, null);
}

/** Ends a response. A connection that closes behind it must not do so while the client still speaks: it would not hear it. */
function finish(response: ServerResponse, body: Buffer | null): void {
  if (response.req.complete || response.shouldKeepAlive) return void response.end(body ?? undefined);
  response.flushHeaders();
  if (body !== null) response.write(body);
  response.req.once("end", () => response.end());
}

/**
 * What is still to come of a request that is refused is read and forgotten, so that the client gets to
 * read the answer. One that goes on and on is cut off.
 */
function discard(request: IncomingMessage): void {
  if (request.complete) return;
  let left = MAX_DISCARDED_BYTES;
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.socket.destroy();
  });
}

const MAX_DISCARDED_BYTES = 16_777_216;

/**
 * Reads the body of a request whose Content-Length is `length`, at most `maxBytes` of it. Calls back once: with the body, with null
 * where it is too large. Not at all where the client is gone.
 */
export function readBody(
  request: IncomingMessage,
  length: string | null,
  maxBytes: number,
  done: (body: Buffer | null) => void,
): void {
  if (Number(length ?? 0) > maxBytes) return done(null);
  let first: Buffer | null = null;
  let more: Buffer[] | null = null;
  let size = 0;
  let isOver = false;
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (isOver) return;
    if (size > maxBytes) {
      isOver = true;
      first = null;
      more = null;
      return done(null);
    }
    if (first === null) first = chunk;
    else (more ??= [first]).push(chunk);
  });
  request.on("end", () => {
    if (!isOver) done(more === null ? (first ?? NOTHING) : Buffer.concat(more));
  });
}

const NOTHING = Buffer.alloc(0);
