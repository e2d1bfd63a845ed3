/** Whose bytes they are: those that are exchanged with a client, or those that are exchanged with the server. */
export type TapSide = "client" | "server";

/** `in` is what came from that side, `out` is what was sent to it. */
export type TapWay = "in" | "out";

/**
 * Sees the exact bytes that come and leave at the edges, before ids are renamed, lines are flattened or anything is judged,
 * and after all that. A connection is one pair of byte streams: a client's stdin and stdout, those of a child process, or one
 * HTTP request and its response. Its bytes of one way, in order, are all that was sent that way. Over HTTP they are those of
 * the body, without the framing of HTTP, and a head comes before them.
 *
 * A tap must not change the bytes. It may keep them, but each is often a part of something larger, which is then kept as well.
 */
export interface Tap {
  bytes(side: TapSide, way: TapWay, connection: string, bytes: Buffer): void;
  head(side: TapSide, way: TapWay, connection: string, head: TapHead): void;
  /** Nothing more comes by this connection. */
  end(side: TapSide, connection: string): void;
}

/** The head of a request or a response of HTTP. Values of headers and of query parameters that may be secrets are `***`. */
export type TapHead =
  | { readonly method: string; readonly path: string; readonly headers: TapHeaders }
  | { readonly status: number; readonly headers: TapHeaders };

/** Names and values, in order. */
export type TapHeaders = readonly (readonly [name: string, value: string])[];

let connections = 0;

/** A name for a connection that no other has in this process: `stdio-1`. */
export function nameConnection(kind: "stdio" | "child" | "http"): string {
  return `${kind}-${++connections}`;
}

/** Headers for a tap, from names and values by turns. Only values of headers that are known to hold no secrets are shown. */
export function maskHeaders(raw: readonly string[]): TapHeaders {
  const masked: [string, string][] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index];
    masked.push([name, SHOWN.test(name) ? raw[index + 1] : MASK]);
  }
  return masked;
}

/** A path for a tap. Of a query only the id of a session is shown: by HTTP+SSE a message names it there. */
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
