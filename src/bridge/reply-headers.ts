/** What is said about a body, and does not hold for another. */
export const ABOUT_BODY = /^(?:content-.*|etag|last-modified|digest|repr-digest|want-.*digest|accept-ranges|age)$/;
/** What a client has to hear also where the body is ours. All else may say more about the server than we do. */
const WITH_OURS = /^(?:www-authenticate|retry-after|allow|mcp-.*|set-cookie|vary)$/;

/** The headers of a body that is the server's or ours. */
export function headersFor(origin: "server" | "changed" | "ours", back: string[], length: number): string[] {
  const size = ["Content-Length", String(length)];
  if (origin === "server") return [...back, ...size];
  const kept = keepHeaders(back, (name) => (origin === "ours" ? WITH_OURS.test(name) : !ABOUT_BODY.test(name)));
  return [...kept, "Content-Type", "application/json", ...size];
}

/** Names and values by turns, of those that are kept. */
export function keepHeaders(headers: readonly string[], isKept: (name: string) => boolean): string[] {
  return headers.filter((_, index) => isKept(headers[index - (index % 2)].toLowerCase()));
}
