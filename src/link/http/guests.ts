import { HEADERS } from "../../message/protocol.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import { networkInterfaces } from "node:os";
import { isLoopback } from "../loopback.ts";
import type { ClientHead } from "./client-head.ts";

/** The Host names that the door accepts, and the origins of web pages that may use it. */
export interface Guests {
  /** Accepted Host headers in lower case: with a port for exactly that port, without one for any port. */
  readonly hosts: ReadonlySet<string>;
  /** Additional origins of web pages that may use the door. */
  readonly origins: ReadonlySet<string>;
}

/** The names under which a door at this address can be reached, and those that the user adds. */
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
 * Whether a Host header is accepted. This prevents DNS rebinding: another site can make its own name point to this
 * machine, but it cannot make the browser send another name.
 */
export function knowsHost({ hosts }: Guests, host: string | null): boolean {
  if (host === null) return false;
  const name = host.toLowerCase();
  return hosts.has(name) || hosts.has(name.replace(/:\d{1,5}$/, ""));
}

/** The origin of a request if pages from there are allowed, else null. */
export function allowedOrigin({ origins }: Guests, { origin, host }: ClientHead): string | null {
  if (origin === null || host === null) return null;
  const name = origin.toLowerCase();
  const isOwn = name === `http://${host.toLowerCase()}` || name === `https://${host.toLowerCase()}`;
  return isOwn || origins.has(name) ? origin : null;
}

/** Whether a request is a CORS preflight. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}

/** Answers a CORS preflight. */
export function answerPreflight(response: ServerResponse, origin: string): void {
  response.writeHead(204, {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    // Tools may define headers of their own, and a wildcard does not cover Authorization.
    "Access-Control-Allow-Headers": requested(response),
    "Access-Control-Max-Age": "600",
    Vary: "Origin, Access-Control-Request-Headers",
  });
  response.end();
}

/** The known headers, and those requested headers that carry tool parameters. */
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
