import type { ResponseHead } from "../../wire/http-head.ts";

/** The type of a response's body, according to its headers. */
export type BodyKind = "json" | "events" | "other";

/** The value of a header, or null. The first value, if there are several. */
export function headerOf({ headers, names }: ResponseHead, name: string): string | null {
  const index = names.indexOf(name);
  return index < 0 ? null : headers[2 * index + 1];
}

/**
 * The type of the body. An encoded body cannot be read, whatever its type. If Content-Type appears twice, both must
 * agree: clients differ in which one they use.
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

/**
 * A Content-Type as clients should see it. Bodies were read as UTF-8, so another charset, and all other parameters, are
 * removed.
 */
function plainType(type: string): string {
  if (IN_UTF8.test(type)) return type;
  const kind = kindNamed(type);
  return kind === "other" ? type : kind === "json" ? "application/json" : "text/event-stream";
}

const IN_UTF8 = /^[\w/+.-]+\s*(?:;\s*charset\s*=\s*(?:utf-?8|"utf-?8")\s*)?$/i;

// Headers for one connection only, and headers that the proxy writes itself.
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

/**
 * The headers that are sent to the client: names and values, alternating. `rewrite` may change a value, or remove it
 * with null.
 */
export function headersBack(
  { headers, names }: ResponseHead,
  rewrite: (name: string, value: string) => string | null,
): string[] {
  const back: string[] = [];
  names.forEach((name, index) => {
    // CGI and similar interfaces treat an underscore like a dash.
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
