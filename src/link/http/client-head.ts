import { LOWER_HEADERS, LOWER_PARAM_HEADER } from "../../message/protocol.ts";

/** What the head of a client's request says, read once. */
export interface ClientHead {
  readonly host: string | null;
  readonly origin: string | null;
  /** How far the page is from us that a browser asks for; null where it does not say, or is none. */
  readonly fetchSite: string | null;
  readonly authorization: string | null;
  /** What the header says that names the client, where the policy trusts one. */
  readonly identity: string | null;
  readonly contentType: string | null;
  readonly contentEncoding: string | null;
  readonly contentLength: string | null;
  readonly accept: string;
  readonly sessionId: string | null;
  readonly protocolVersion: string | null;
  readonly lastEventId: string | null;
  /** The headers that mirror the body since 2026-07-28. */
  readonly mcpMethod: string | null;
  readonly mcpName: string | null;
  readonly mcpParams: readonly (readonly [string, string])[];
  /** A header that may stand only once and stands twice, or a name that some servers take for such a one. */
  readonly doubtful: string | null;
  /** What goes on to the server: header lines, each with its CRLF, spelled as they came. */
  readonly onward: string;
}

// Two of these would be read differently by different servers.
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

// For this connection only (RFC 9110, 7.6.1), made anew by us, or nobody else's business.
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
 * Reads the headers of a request: names and values by turns. Those in `without` do not go on. `identityHeader` names the
 * client, in lower case.
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
      // Who has a header taken away on the way lets us see another request than the server.
      if (dropped !== without && [...SINGLE].some((each) => dropped.has(each) && !without.has(each))) doubtful = name;
      if (identityHeader !== null && dropped.has(identityHeader)) doubtful = name;
    } else if (name === "accept") accept.push(value);
    // Others would have to be undone before anybody could read what is meant.
    else if (name === "transfer-encoding" && value.toLowerCase() !== "chunked") doubtful = name;
    else if (name.startsWith(LOWER_PARAM_HEADER)) {
      if (mcpParams.some(([other]) => other === name)) doubtful = name;
      mcpParams.push([name, value]);
    } else if (name === identityHeader) {
      // An empty one counts, too: others may read the other one.
      if (isNamed || !isName(value)) doubtful = name;
      isNamed = true;
      identity = value === "" ? null : value;
    } else if (SINGLE.has(name)) {
      if (found.has(name)) doubtful = name;
      else found.set(name, value);
    } else if (name.includes("_")) {
      // CGI and its heirs make one variable of both.
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
 * What goes on to the server with a message. Streams are resumed by GET only: a server that also resumed one with a message
 * would mix old events with the answer to it.
 */
export function withoutResumption({ lastEventId, onward }: ClientHead): string {
  return lastEventId === null ? onward : onward.replaceAll(LAST_EVENT_ID, "");
}

const LAST_EVENT_ID = /^last-event-id:.*\r\n/gim;

/** Longer names are refused. Limits and state are kept under them. */
export const MAX_IDENTITY_CHARACTERS = 256;

/** Whether a header may name a client so. What begins with `address:` stands for a client without a name. */
function isName(value: string): boolean {
  return value.length <= MAX_IDENTITY_CHARACTERS && !value.startsWith("address:");
}

const NONE: ReadonlySet<string> = new Set();

// The same few names come with every request.
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

/** A Connection header names others that are for this connection only. */
function dropAlso(dropped: ReadonlySet<string>, connection: string): ReadonlySet<string> {
  const named = connection.toLowerCase().split(",");
  if (named.length === 1 && (named[0] === "keep-alive" || named[0] === "close")) return dropped;
  return new Set([...dropped, ...named.map((name) => name.trim())]);
}

/** Whether a list of media types such as an Accept header admits one. */
export function admits(accept: string, type: "application/json" | "text/event-stream"): boolean {
  if (accept === "" || accept === USUAL) return true;
  const [family] = type.split("/");
  return accept.split(",").some((entry) => {
    const media = entry.split(";")[0].trim().toLowerCase();
    return media === type || media === "*/*" || media === `${family}/*`;
  });
}

/** What clients of Streamable HTTP have to send, as nearly all of them write it. */
const USUAL = "application/json, text/event-stream";

/** Whether a body is said to be JSON in UTF-8. */
export function isJson(contentType: string | null): boolean {
  if (contentType === "application/json") return true;
  const match = /^\s*application\/json\s*(?:;\s*charset\s*=\s*"?([\w-]+)"?\s*)?$/i.exec(contentType ?? "");
  return match !== null && /^utf-?8$/i.test(match[1] ?? "utf-8");
}
