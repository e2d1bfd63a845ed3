import type { ResponseHead } from "../../wire/http-head.ts";

/** What a server's response brings, as far as it says so itself. */
export type BodyKind = "json" | "events" | "other";

/** The value of a header, or null. The first, where there are several. */
export function headerOf({ headers, names }: ResponseHead, name: string): string | null {
  const index = names.indexOf(name);
  return index < 0 ? null : headers[2 * index + 1];
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
  { headers, names }: ResponseHead,
  rewrite: (name: string, value: string) => string | null,
): string[] {
  const back: string[] = [];
  names.forEach((name, index) => {
    // CGI and its heirs take an underscore for a dash.
    const plain = name.includes("_") ? name.replaceAll("_", "-") : name;
    if (NOT_BACK.has(plain) || plain.startsWith("access-control-")) return;
    const value = rewrite(name, headers[2 * index + 1]);
    if (value !== null) back.push(headers[2 * index], value);
  });
  return back;
}
