import type { ResponseHead } from "../../wire/http-response.ts";

/** What a server's response brings, as far as it says so itself. */
export type BodyKind = "json" | "events" | "other";

/** The value of a header, or null. The first, where there are several. */
export function headerOf({ headers }: ResponseHead, name: string): string | null {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index].length === name.length && headers[index].toLowerCase() === name) return headers[index + 1];
  }
  return null;
}

/** What the body is. One that is encoded cannot be read, whatever it is. */
export function kindOf(head: ResponseHead): BodyKind {
  const encoding = headerOf(head, "content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") return "other";
  const type = (headerOf(head, "content-type") ?? "").toLowerCase();
  if (/^application\/json\s*(;|$)/.test(type)) return "json";
  return /^text\/event-stream\s*(;|$)/.test(type) ? "events" : "other";
}

// For one connection only, made anew by us, or for us to say.
const NOT_BACK = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "alt-svc",
  "strict-transport-security",
]);

/** The headers that go back to the client: names and values by turns. `rewrite` may change a value, or drop it with null. */
export function headersBack(
  { headers }: ResponseHead,
  rewrite: (name: string, value: string) => string | null,
): string[] {
  const back: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index].toLowerCase();
    if (NOT_BACK.has(name) || name.startsWith("access-control-")) continue;
    const value = rewrite(name, headers[index + 1]);
    if (value !== null) back.push(headers[index], value);
  }
  return back;
}
