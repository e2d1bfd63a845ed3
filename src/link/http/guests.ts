import { HEADERS } from "../../message/protocol.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import { networkInterfaces } from "node:os";
import { isLoopback } from "../loopback.ts";
import type { ClientHead } from "./client-head.ts";

/** Which names we answer to, and which pages may speak to us. */
export interface Guests {
  /** What may stand in a Host header, lower-case: with a port exactly, without one for any port. */
  readonly hosts: ReadonlySet<string>;
  /** Origins of pages that may speak to us beside those we serve ourselves, which are none. */
  readonly origins: ReadonlySet<string>;
}

/** The names under which a door at this address can be reached, and what the user adds to them. */
export function expectGuests(host: string, hosts: readonly string[], origins: readonly string[]): Guests {
  const names = new Set(hosts.map((name) => name.toLowerCase()));
  if (isLoopback(host)) for (const name of ["localhost", "127.0.0.1", "[::1]"]) names.add(name);
  names.add(bracket(host.toLowerCase()));
  if (host === "0.0.0.0" || host === "::") {
    names.add("localhost");
    for (const list of Object.values(networkInterfaces()))
      for (const { address } of list ?? []) names.add(bracket(address));
  }
  return { hosts: names, origins: new Set(origins.map((origin) => origin.toLowerCase())) };
}

function bracket(host: string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}

/**
 * Whether we go by this name. A page of a stranger can make its own name point to this machine, but
 * it cannot make the browser say another name than that.
 */
export function knowsHost({ hosts }: Guests, host: string | null): boolean {
  if (host === null) return false;
  const name = host.toLowerCase();
  return hosts.has(name) || hosts.has(name.replace(/:\d{1,5}$/, ""));
}

/** The origin of a request where pages from there may speak to us, or null. */
export function allowedOrigin({ origins }: Guests, { origin, host }: ClientHead): string | null {
  if (origin === null || host === null) return null;
  const name = origin.toLowerCase();
  const isOwn = name === `http://${host.toLowerCase()}` || name === `https://${host.toLowerCase()}`;
  return isOwn || origins.has(name) ? origin : null;
}

/** Whether a browser asks what it may ask. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

/** Tells a browser what a page may send. */
export function answerPreflight(response: ServerResponse, origin: string): void {
  response.writeHead(204, {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    // Tools may ask for headers of their own; a wildcard does not cover Authorization.
    "Access-Control-Allow-Headers": requested(response),
    "Access-Control-Max-Age": "600",
    Vary: "Origin, Access-Control-Request-Headers",
  });
  response.end();
}

/** What is asked for, as far as it is a header of the protocol. */
function requested({ req }: ServerResponse): string {
  const asked = (req.headers["access-control-request-headers"] ?? "").split(",").map((name) => name.trim());
  const params = asked.filter((name) => /^mcp-param-[\w-]{1,100}$/i.test(name)).slice(0, 50);
  return [...KNOWN, ...params].join(", ");
}

const KNOWN = [
  "Content-Type",
  "Accept",
  "Authorization",
  HEADERS.version,
  HEADERS.session,
  HEADERS.method,
  HEADERS.name,
  "Last-Event-ID",
  "traceparent",
  "tracestate",
  "baggage",
];
