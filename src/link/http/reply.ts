import type { IncomingMessage, ServerResponse } from "node:http";
import { leaveTogether } from "../leave-together.ts";
import { countUnread } from "../memory.ts";

/** A JSON-RPC error. */
interface HttpError {
  readonly code: number;
  readonly message: string;
}

/** Refuses a request with an error response that has no id. */
export function replyError(response: ServerResponse, status: number, error: HttpError, allow: string | null): void {
  if (allow !== null) response.setHeader("Allow", allow);
  replyJson(response, status, Buffer.from(JSON.stringify({ jsonrpc: "2.0", error, id: null })), []);
}

/** Answers with JSON. `headers` are names and values, alternating. */
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

/**
 * Ends a response. If the connection closes after it, it must not close while the client is still sending: the client
 * would not receive the response.
 */
function finish(response: ServerResponse, body: Buffer | null): void {
  if (response.req.complete || response.shouldKeepAlive)
    return body === null ? void response.end() : endWith(response, body);
  if (body !== null) countLarge(response, body.length);
  response.flushHeaders();
  if (body !== null) response.write(body);
  response.req.once("end", () => response.end());
}

/**
 * Ends a response whose head has been written. A small body is sent as a string, because Node then sends it together
 * with the head in one write.
 */
export function endWith(response: ServerResponse, body: Buffer): void {
  if (body.length > MAX_TEXT_BYTES) {
    countLarge(response, body.length);
    return void response.end(body);
  }
  const text = body.toString("latin1");
  leaveTogether(() => response.end(text, "latin1"));
}

const MAX_TEXT_BYTES = 16_384;

function countLarge(response: ServerResponse, size: number): void {
  urge(response, size);
  countUnread(response, size);
}

/**
 * Disconnects a client that does not read a large response: the response is kept until it is read, and there may be
 * many.
 */
export function urge(response: ServerResponse, size: number, stalledMs = STALLED_MS): void {
  if (size > LARGE_BYTES) response.setTimeout(stalledMs, () => response.destroy());
}

const LARGE_BYTES = 262_144;
/** The timeout for progress, not for the whole response. */
const STALLED_MS = 30_000;

/**
 * Reads and discards the rest of a refused request, so that the client gets to read the response. A client that sends
 * too much is disconnected.
 */
function discard(request: IncomingMessage): void {
  if (request.complete) return;
  let left = MAX_DISCARDED_BYTES;
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.socket.destroy();
  });
  request.resume();
}

const MAX_DISCARDED_BYTES = 16_777_216;
