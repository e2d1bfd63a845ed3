import type { IncomingMessage, ServerResponse } from "node:http";
import { maskHeaders, maskPath, nameConnection, type Tap } from "../../wire/tap.ts";

/**
 * Lets a tap see a request and its response. It must be attached before the body is read. A "data" listener would start
 * the flow of the body too early, so the functions that all bytes go through are replaced: `push` of the request, which
 * the HTTP parser calls, and `write` and `end` of the response.
 */
export function tapExchange(tap: Tap, request: IncomingMessage, response: ServerResponse): void {
  const connection = nameConnection("http");
  const { method = "", url = "" } = request;
  tap.head("client", "in", connection, { method, path: maskPath(url), headers: maskHeaders(request.rawHeaders) });
  const push = request.push.bind(request);
  request.push = (chunk: unknown, encoding) => {
    if (Buffer.isBuffer(chunk)) tap.bytes("client", "in", connection, chunk);
    return push(chunk, encoding);
  };

  /** Bytes that are written to an ended response, or to one that must not have a body, are not sent. */
  function see(chunk: unknown, encoding: unknown): void {
    if (method === "HEAD" || response.destroyed || response.writableEnded) return;
    if (typeof chunk === "string") {
      const named = typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8";
      tap.bytes("client", "out", connection, Buffer.from(chunk, named));
    } else if (Buffer.isBuffer(chunk) && chunk.length > 0) tap.bytes("client", "out", connection, chunk);
  }

  const { writeHead, write, end } = response;
  response.writeHead = ((...args: unknown[]) => {
    const headers = maskHeaders(headersOf(response, args.at(-1)));
    const result: unknown = Reflect.apply(writeHead, response, args);
    tap.head("client", "out", connection, { status: response.statusCode, headers });
    return result;
  }) as typeof writeHead;
  response.write = ((...args: unknown[]) => {
    see(args[0], args[1]);
    return Reflect.apply(write, response, args) as boolean;
  }) as typeof write;
  response.end = ((...args: unknown[]) => {
    see(args[0], args[1]);
    return Reflect.apply(end, response, args) as ServerResponse;
  }) as typeof end;
  response.once("close", () => tap.end("client", connection));
}

/** Names and values, alternating: the headers set before, overridden by those given with the status. */
function headersOf(response: ServerResponse, given: unknown): string[] {
  const added: string[] = [];
  if (Array.isArray(given)) added.push(...given.map(String));
  else if (typeof given === "object" && given !== null)
    for (const [name, value] of Object.entries(given)) added.push(name, String(value));
  const names = new Set(added.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()));
  const before = Object.entries(response.getHeaders()).filter(([name]) => !names.has(name));
  return [...before.flatMap(([name, value]) => [name, String(value)]), ...added];
}
