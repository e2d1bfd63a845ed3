/** Headers that describe a particular body and are wrong for any other. */
export const ABOUT_BODY = /^(?:content-.*|etag|last-modified|digest|repr-digest|want-.*digest|accept-ranges|age)$/;
/**
 * Headers of the server that a client needs even if the body is ours. Others may reveal more about the server than the
 * proxy wants to.
 */
const WITH_OURS = /^(?:www-authenticate|retry-after|allow|mcp-.*|set-cookie|vary)$/;

/** The response headers for a body from the server or from the proxy. */
export function headersFor(origin: "server" | "changed" | "ours", back: string[], length: number): string[] {
  const size = ["Content-Length", String(length)];
  if (origin === "server") return [...back, ...size];
  const kept = keepHeaders(back, (name) => (origin === "ours" ? WITH_OURS.test(name) : !ABOUT_BODY.test(name)));
  return [...kept, "Content-Type", "application/json", ...size];
}

/** Filters a list of alternating names and values by name. */
export function keepHeaders(headers: readonly string[], isKept: (name: string) => boolean): string[] {
  return headers.filter((_, index) => isKept(headers[index - (index % 2)].toLowerCase()));
}
