import type { IncomingMessage, ServerResponse } from "node:http";
import { maskHeaders, maskPath, nameConnection, type Tap } from "../../wire/tap.ts";

/**
 * Lets a tap see a request and its response. It has to be attached before anything of the body is read. Listening to "data"
 * would let the body flow before somebody wants it, so the functions are replaced through which all bytes go: `push` of the
 * request, which the HTTP parser calls, and `write` and `end` of the response.
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

  /** What is written to a response that is over, or that may have no body, does not leave. */
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

/** Names and values by turns: what was set before, and what is given with the status and takes its place. */
function headersOf(response: ServerResponse, given: unknown): string[] {
  const added: string[] = [];
  if (Array.isArray(given)) added.push(...given.map(String));
  else if (typeof given === "object" && given !== null)
    for (const [name, value] of Object.entries(given)) added.push(name, String(value));
  const names = new Set(added.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()));
  const before = Object.entries(response.getHeaders()).filter(([name]) => !names.has(name));
  return [...before.flatMap(([name, value]) => [name, String(value)]), ...added];
}
