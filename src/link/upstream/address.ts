import { ProxyError } from "../../errors.ts";

/** Where a server is. */
export interface Address {
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: number;
  /** Path and query, as they stand in a request. */
  readonly path: string;
  /** What stands in the Host header. */
  readonly authority: string;
  /** Scheme and authority. */
  readonly origin: string;
  /** The whole of it for people: name, password and query masked. */
  readonly shown: string;
  /** The value of an Authorization header for a name and password in the URL; null where there is none. */
  readonly credentials: string | null;
}

/** Reads the URL of a server. */
export function parseAddress(text: string): Address {
  let url: URL;
  try {
    url = new URL(text);
  } catch (cause) {
    throw notAnAddress(text, cause);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw notAnAddress(text);
  const isSecure = url.protocol === "https:";
  const credentials =
    url.username === "" && url.password === ""
      ? null
      : `Basic ${Buffer.from(`${decode(url.username)}:${decode(url.password)}`).toString("base64")}`;
  return {
    isSecure,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isSecure ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    authority: url.host,
    origin: url.origin,
    shown: showUrl(url),
    credentials,
  };
}

/** A name or password may hold a percent sign that escapes nothing: then it stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The same server under another path. */
export function withPath(address: Address, path: string): Address {
  const { origin } = address;
  return { ...address, path, shown: showUrl(new URL(path, origin)) };
}

/** A URL for people and logs. */
function showUrl(url: URL): string {
  const who = url.username === "" && url.password === "" ? "" : "***@";
  const path = url.pathname === "/" && url.search === "" ? "" : url.pathname;
  return `${url.protocol}//${who}${url.host}${path}${url.search === "" ? "" : "?***"}`;
}

function notAnAddress(text: string, cause?: unknown): ProxyError {
  // What was meant as a password may be in it: only what cannot hold one is repeated.
  const shown = text.includes("@") || text.includes("?") ? "***" : text;
  return new ProxyError(
    "BAD_UPSTREAM",
    `Not an upstream MCP server: ${shown}`,
    "Write a URL that begins with http:// or https://",
    {
      cause,
    },
  );
}
