import type { ResponseHead } from "../../wire/http-head.ts";

/** What a server's response brings, as far as it says so itself. */
export type BodyKind = "json" | "events" | "other";

/** The value of a header, or null. The first, where there are several. */
export function headerOf({ headers, names }: ResponseHead, name: string): string | null {
  const index = names.indexOf(name);
  return index < 0 ? null : headers[2 * index + 1];
}

/**
 * What the body is. One that is encoded cannot be read, whatever it is. Where a header stands twice, both have to say the
 * same: clients differ in which of them they go by.
 */
export function kindOf({ headers, names }: ResponseHead): BodyKind {
  let kind: BodyKind | null = null;
  for (let index = 0; index < names.length; index++) {
    const value = headers[2 * index + 1];
    if (names[index] === "content-encoding" && value.toLowerCase() !== "identity") return "other";
    if (names[index] !== "content-type") continue;
    const named = kindNamed(value);
    if (kind !== null && kind !== named) return "other";
    kind = named;
  }
  return kind ?? "other";
}

function kindNamed(type: string): BodyKind {
  if (/^application\/json\s*(?:;|$)/i.test(type)) return "json";
  return /^text\/event-stream\s*(?:;|$)/i.test(type) ? "events" : "other";
}

/** A type as clients should see it. Bodies were read as UTF-8: what says otherwise, and all that is beside it, is left out. */
function plainType(type: string): string {
  if (IN_UTF8.test(type)) return type;
  const kind = kindNamed(type);
  return kind === "other" ? type : kind === "json" ? "application/json" : "text/event-stream";
}

const IN_UTF8 = /^[\w/+.-]+\s*(?:;\s*charset\s*=\s*(?:utf-?8|"utf-?8")\s*)?$/i;

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
  "content-encoding",
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
    const isType = plain === "content-type";
    if (isType && names.indexOf(name) < index) return;
    const given = headers[2 * index + 1];
    const value = rewrite(name, isType ? plainType(given) : given);
    if (value !== null) back.push(headers[2 * index], value);
  });
  return back;
}
