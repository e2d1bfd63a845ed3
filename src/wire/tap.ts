/** Whether bytes are exchanged with a client or with the server. */
export type TapSide = "client" | "server";

/** `in` is received from that side, `out` is sent to it. */
export type TapWay = "in" | "out";

/**
 * Sees the exact bytes that the proxy receives and sends: received bytes before ids are changed, lines are flattened or
 * messages are judged, and sent bytes after that. A connection is one pair of byte streams: a client's stdin and
 * stdout, those of a child process, or one HTTP request and its response. The `in` bytes of a connection, in order, are
 * all bytes that were received on it, and the `out` bytes are all that were sent. Over HTTP they are the bytes of the
 * body, without the framing of HTTP, and a head comes before them.
 *
 * A tap must not change the bytes. It may keep them, but each Buffer is often a part of a larger one, which then stays
 * in memory as well.
 */
export interface Tap {
  bytes(side: TapSide, way: TapWay, connection: string, bytes: Buffer): void;
  head(side: TapSide, way: TapWay, connection: string, head: TapHead): void;
  /** The connection ended. No bytes follow. */
  end(side: TapSide, connection: string): void;
}

/** The head of an HTTP request or response. Values of headers and query parameters that may be secrets are `***`. */
export type TapHead =
  | { readonly method: string; readonly path: string; readonly headers: TapHeaders }
  | { readonly status: number; readonly headers: TapHeaders };

/** Names and values, in order. */
export type TapHeaders = readonly (readonly [name: string, value: string])[];

let connections = 0;

/** Makes a name for a connection that is unique in this process, such as `stdio-1`. */
export function nameConnection(kind: "stdio" | "child" | "http"): string {
  return `${kind}-${++connections}`;
}

/** Headers for a tap, from alternating names and values. Only values of headers that never hold secrets are shown. */
export function maskHeaders(raw: readonly string[]): TapHeaders {
  const masked: [string, string][] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index];
    masked.push([name, SHOWN.test(name) ? raw[index + 1] : MASK]);
  }
  return masked;
}

/** A path for a tap. In the query only a session id is shown, because HTTP+SSE puts it there. */
export function maskPath(path: string): string {
  const question = path.indexOf("?");
  if (question < 0) return path;
  const query = path
    .slice(question + 1)
    .replaceAll(/([^&=]*)=([^&]*)/g, (whole, name: string) => (SESSION.test(name) ? whole : `${name}=${MASK}`));
  return `${path.slice(0, question)}?${query}`;
}

const MASK = "***";
const SESSION = /^session_?id$/i;
const SHOWN =
  /^(?:accept|accept-encoding|access-control-.*|allow|cache-control|connection|content-encoding|content-length|content-type|date|host|keep-alive|last-event-id|mcp-.*|origin|retry-after|sec-fetch-.*|server|transfer-encoding|user-agent|vary|www-authenticate|x-accel-buffering|x-content-type-options)$/i;
