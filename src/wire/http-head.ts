/** Status and headers of a response. */
export interface ResponseHead {
  readonly status: number;
  /** Alternating names and values, as they were received. */
  readonly headers: readonly string[];
  /** The names in lower case. */
  readonly names: readonly string[];
}

/** A head, and what it says about the body. */
export interface Head extends ResponseHead {
  readonly chunked: boolean;
  /** Null if the body ends with the connection. */
  readonly length: number | null;
  readonly keepAlive: boolean;
}

/** Parses a head. Returns a text that says what is wrong if it is malformed. */
export function parseHead(text: string): Head | string {
  const first = text.indexOf("\r\n");
  const status = STATUS.exec(first < 0 ? text : text.slice(0, first));
  if (status === null) return "no status line";
  const headers: string[] = [];
  const names: string[] = [];
  let chunked = false;
  let length: number | null = null;
  let keepAlive = status[1] === "1";
  for (let at = first; at >= 0;) {
    const end = text.indexOf("\r\n", at + 2);
    const line = readLine(text.slice(at + 2, end < 0 ? undefined : end));
    if (line === null) return "malformed header";
    const { name, lower, value } = line;
    headers.push(name, value);
    names.push(lower);
    switch (lower) {
      case "content-length": {
        const size = /^\d{1,15}$/.test(value) ? Number(value) : -1;
        if (size < 0 || (length !== null && length !== size)) return "its length is ambiguous";
        length = size;
        break;
      }
      case "transfer-encoding":
        if (chunked || value.toLowerCase() !== "chunked") return "its length is ambiguous";
        chunked = true;
        break;
      case "connection":
        if (/\bclose\b/i.test(value)) keepAlive = false;
        else if (/\bkeep-alive\b/i.test(value)) keepAlive = true;
        break;
      default:
    }
    at = end;
  }
  // Security: responses with both are used for response smuggling.
  if (chunked && length !== null) return "its length is ambiguous";
  // RFC 9112, 6.1: HTTP/1.0 does not define chunks, so an intermediary may have framed the body differently. The
  // connection must not be reused.
  if (chunked && status[1] === "0") keepAlive = false;
  return { status: Number(status[2]), headers, names, chunked, length, keepAlive };
}

interface HeaderLine {
  readonly name: string;
  readonly lower: string;
  readonly value: string;
}

// Cache of parsed lines: a server repeats most header lines in every response.
const known = new Map<string, HeaderLine>();
const MAX_KNOWN = 500;
const MAX_KNOWN_CHARACTERS = 100;
const CHANGING = new Set(["content-length", "date", "etag", "last-modified", "mcp-session-id", "set-cookie"]);

/** Reads one header line. Null if it is malformed. */
function readLine(text: string): HeaderLine | null {
  const seen = known.get(text);
  if (seen !== undefined) return seen;
  const colon = text.indexOf(":");
  const name = text.slice(0, Math.max(colon, 0));
  const value = text.slice(colon + 1).trim();
  if (!TOKEN.test(name) || !VALUE.test(value)) return null;
  const lower = name.toLowerCase();
  if (known.size >= MAX_KNOWN || text.length > MAX_KNOWN_CHARACTERS || CHANGING.has(lower))
    return { name, lower, value };
  const line = { name: copy(name), lower, value: copy(value) };
  known.set(copy(text), line);
  return line;
}

/** Copies a text. A slice would keep the whole text that it was cut from in memory. */
function copy(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

const STATUS = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
