import { LOWER_HEADERS, LOWER_PARAM_HEADER } from "../../message/protocol.ts";

/** The head of a client's request, parsed once. */
export interface ClientHead {
  readonly host: string | null;
  readonly origin: string | null;
  /** The Sec-Fetch-Site header of a browser; null if there is none. */
  readonly fetchSite: string | null;
  readonly authorization: string | null;
  /** The client's identity in the header that the policy trusts, if there is one. */
  readonly identity: string | null;
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
  readonly contentLength: string | null;
  readonly accept: string;
  readonly sessionId: string | null;
  readonly protocolVersion: string | null;
  readonly lastEventId: string | null;
  /** The headers that repeat parts of the body since 2026-07-28. */
  readonly mcpMethod: string | null;
  readonly mcpName: string | null;
  readonly mcpParams: readonly (readonly [string, string])[];
  /**
   * The name of a header that may appear only once and appears twice, or of one that some servers could take for such a
   * header.
   */
  readonly doubtful: string | null;
  /** The header lines to forward, each with its CRLF, spelled as they were received. */
  readonly onward: string;
}

// If one of these appears twice, different servers read different values.
const SINGLE = new Set([
  "host",
  "origin",
  "sec-fetch-site",
  "authorization",
  "content-type",
  "content-encoding",
  "content-length",
  ...Object.values(LOWER_HEADERS),
  "last-event-id",
]);

// Headers for this connection only (RFC 9110, 7.6.1), headers that the proxy writes itself, and headers that the server
// must not see.
const NOT_ONWARD = new Set([
  "host",
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authorization",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
  "content-length",
  "accept-encoding",
  "origin",
  "sec-fetch-site",
  "sec-fetch-mode",
  "sec-fetch-dest",
  "sec-fetch-user",
  "http2-settings",
]);

/**
 * Reads the headers of a request: names and values, alternating. Those in `without` are not forwarded. `identityHeader`
 * is the lower-case name of the header that identifies the client.
 */
export function readClientHead(
  rawHeaders: readonly string[],
  without: ReadonlySet<string> = NONE,
  identityHeader: string | null = null,
): ClientHead {
  let identity: string | null = null;
  let isNamed = false;
  const found = new Map<string, string>();
  const mcpParams: [string, string][] = [];
  const accept: string[] = [];
  let doubtful: string | null = null;
  let dropped = without;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = lowerCase(rawHeaders[index]);
    const value = rawHeaders[index + 1];
    if (name === "connection") {
      dropped = dropAlso(dropped, value);
      // If a Connection header removes one of these headers, the proxy and the server would see different requests.
      if (dropped !== without && [...SINGLE].some((each) => dropped.has(each) && !without.has(each))) doubtful = name;
      if (identityHeader !== null && dropped.has(identityHeader)) doubtful = name;
    } else if (name === "accept") accept.push(value);
    // Other encodings would have to be decoded before the body can be read.
    else if (name === "transfer-encoding" && value.toLowerCase() !== "chunked") doubtful = name;
    else if (name.startsWith(LOWER_PARAM_HEADER)) {
      if (mcpParams.some(([other]) => other === name)) doubtful = name;
      mcpParams.push([name, value]);
    } else if (name === identityHeader) {
      // An empty value counts too: a server may read the other one.
      if (isNamed || !isName(value)) doubtful = name;
      isNamed = true;
      identity = value === "" ? null : value;
    } else if (SINGLE.has(name)) {
      if (found.has(name)) doubtful = name;
      else found.set(name, value);
    } else if (name.includes("_")) {
      // CGI and similar interfaces map both spellings to one variable.
      const twin = name.replaceAll("_", "-");
      const decides = SINGLE.has(twin) || NOT_ONWARD.has(twin) || twin.startsWith("mcp-");
      if (decides || twin === identityHeader) doubtful = name;
    }
  }
  let onward = "";
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = lowerCase(rawHeaders[index]);
    if (!NOT_ONWARD.has(name) && !dropped.has(name)) onward += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`;
  }
  const get = (name: string): string | null => found.get(name) ?? null;
  return {
    host: get("host"),
    origin: get("origin"),
    fetchSite: get("sec-fetch-site"),
    authorization: get("authorization"),
    identity,
    contentType: get("content-type"),
    contentEncoding: get("content-encoding"),
    contentLength: get("content-length"),
    accept: accept.join(", "),
    sessionId: get(LOWER_HEADERS.session),
    protocolVersion: get(LOWER_HEADERS.version),
    lastEventId: get("last-event-id"),
    mcpMethod: get(LOWER_HEADERS.method),
    mcpName: get(LOWER_HEADERS.name),
    mcpParams,
    doubtful,
    onward,
  };
}

/**
 * The header lines to forward with a message. Streams are resumed by GET only: a server that also resumed one in
 * response to a POST would mix old events with its response.
 */
export function withoutResumption({ lastEventId, onward }: ClientHead): string {
  return lastEventId === null ? onward : onward.replaceAll(LAST_EVENT_ID, "");
}

const LAST_EVENT_ID = /^last-event-id:.*\r\n/gim;

/** Longer identities are refused, because limits and state are kept under them. */
export const MAX_IDENTITY_CHARACTERS = 256;

/** Whether an identity is valid. The prefix `address:` is reserved for clients without an identity. */
function isName(value: string): boolean {
  return value.length <= MAX_IDENTITY_CHARACTERS && !value.startsWith("address:");
}

const NONE: ReadonlySet<string> = new Set();

// Cached, because the same few names appear in every request.
const lowered = new Map<string, string>();
const MAX_LOWERED = 1000;

/** A header's name in lower case. */
function lowerCase(name: string): string {
  const known = lowered.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  if (lowered.size < MAX_LOWERED && name.length <= 64) lowered.set(name, lower);
  return lower;
}

/** A Connection header names other headers that are for this connection only. */
function dropAlso(dropped: ReadonlySet<string>, connection: string): ReadonlySet<string> {
  const named = connection.toLowerCase().split(",");
  if (named.length === 1 && (named[0] === "keep-alive" || named[0] === "close")) return dropped;
  return new Set([...dropped, ...named.map((name) => name.trim())]);
}

/** Whether a list of media types, such as an Accept header, includes one. */
export function admits(accept: string, type: "application/json" | "text/event-stream"): boolean {
  if (accept === "" || accept === USUAL) return true;
  const [family] = type.split("/");
  return accept.split(",").some((entry) => {
    const media = entry.split(";")[0].trim().toLowerCase();
    return media === type || media === "*/*" || media === `${family}/*`;
  });
}

/** The Accept header that nearly all clients of Streamable HTTP send. */
const USUAL = "application/json, text/event-stream";

/** Whether a Content-Type is JSON in UTF-8. */
export function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  const match = /^\s*application\/json\s*(?:;\s*charset\s*=\s*"?([\w-]+)"?\s*)?$/i.exec(contentType ?? "");
  return match !== null && /^utf-?8$/i.test(match[1] ?? "utf-8");
}
