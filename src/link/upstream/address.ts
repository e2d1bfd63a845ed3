import { ProxyError } from "../../errors.ts";

/** The address of a server. */
export interface Address {
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: number;
  /** Path and query for the request line. */
  readonly path: string;
  /** The value of the Host header. */
  readonly authority: string;
  /** Scheme and authority. */
  readonly origin: string;
  /** The whole URL for people: user name, password and query are masked. */
  readonly shown: string;
  /** The Authorization header for a user name and password in the URL; null if there are none. */
  readonly credentials: string | null;
}

/** Parses the URL of a server. */
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

/** A name or password may contain a percent sign that is not an escape: then it is taken literally. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The same server with another path. */
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
  // The text may contain a password, so it is shown only if it cannot.
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
