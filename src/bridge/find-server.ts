import { ConnectionError, ProxyError } from "../errors.ts";
import { type Address, withPath } from "../link/upstream/address.ts";
import { headerOf } from "../link/upstream/head.ts";
import type { Pool } from "../link/upstream/pool.ts";
import { type CatalogueKeeper, createCatalogues, type Refusal } from "../session/catalogue.ts";
import type { Era } from "../message/protocol.ts";
import type { ResponseHead } from "../wire/http-head.ts";
import { INVALID, refusedWith } from "./answers.ts";
import { createOwnClient, type Greeting, type OwnClient } from "./own-client.ts";
import { BODIES, sendOwn, type ServerEnd, type ServerListener } from "./server-end.ts";
import { openSseEnd } from "./sse-end.ts";
import { createStreamableEnd } from "./streamable-end.ts";

/** A server that was found, and its transport. */
export interface FoundServer {
  readonly kind: "streamable" | "sse";
  readonly address: Address;
  /** Clients log in to this server themselves, so nothing is known of its tools. */
  readonly needsLogin: boolean;
  /** The catalogues of its tools, by era. */
  readonly catalogues: Record<Era, CatalogueKeeper>;
}

/** Options for finding a server. */
export interface FindOptions {
  readonly pool: Pool;
  readonly address: Address;
  readonly headers: () => string;
  readonly permit: (head: ResponseHead, shown: string) => Promise<boolean>;
  readonly connectMs: number;
  readonly listMs: number;
  readonly maxMessageBytes: number;
  readonly version: string;
}

/**
 * Finds a server's address and transport in a session of our own, and fetches its tools. A URL without a path is tried
 * as given, then with the usual paths.
 */
export async function findServer(options: FindOptions): Promise<FoundServer> {
  const { address, connectMs } = options;
  const until = Date.now() + connectMs;
  const paths = address.path === "/" ? ["/", "/mcp", "/sse"] : [address.path];
  let last: Refused = { why: "no answer", details: "no answer" };
  for (const path of paths) {
    const found = await within(until, connectMs, address, tryPath(options, withPath(address, path)));
    if (!("why" in found)) return found;
    last = found;
  }
  throw cannotConnect(address, "INVALID_RESPONSE", `Invalid response: ${last.why}`, last.details);
}

/** Fetches the tools of one era in a session of our own. */
export async function fetchTools(options: FindOptions, found: FoundServer, era: Era): Promise<CatalogueKeeper> {
  const contact = await openContact(options, found.kind, found.address);
  try {
    const greeting = await contact.client.greet(era);
    if (!greeting.isWelcome) throw new Error("the server does not speak this revision");
    return await contact.client.listTools(greeting);
  } finally {
    void contact.end.close();
  }
}

/**
 * Calls a tool that the server does not have, in a session of our own. Null if there is no response that can be
 * repeated.
 */
export async function fetchRefusal(options: FindOptions, found: FoundServer, era: Era): Promise<Refusal | null> {
  const contact = await openContact(options, found.kind, found.address);
  try {
    const greeting = await contact.client.greet(era);
    return greeting.isWelcome ? await contact.client.askForNothing(greeting) : null;
  } catch {
    return null;
  } finally {
    void contact.end.close();
  }
}

/** Why no MCP server was found at an address: for the error message, and in more detail for the log. */
interface Refused {
  readonly why: string;
  readonly details: string;
}

/** Tries one address. Returns the server, or why there is none. */
async function tryPath(options: FindOptions, address: Address, redirects = 0): Promise<FoundServer | Refused> {
  let contact = await openContact(options, "streamable", address);
  let greeting = await greet(options, contact.client, "either");
  const { head, error } = contact.heard();
  if (error !== null && head === null) {
    throw cannotConnect(options.address, error.code, error.message, error.internalDetails);
  }
  const moved = head === null ? null : redirected(head, address);
  if (moved !== null) {
    void contact.end.close();
    return redirects < MAX_REDIRECTS ? tryPath(options, moved, redirects + 1) : refused(0, "too many redirects");
  }
  const status = head?.status ?? 0;
  const found = {
    kind: "streamable" as "streamable" | "sse",
    address,
    needsLogin: false,
    catalogues: createCatalogues(),
  };
  if (status === 401 || status === 403) {
    void contact.end.close();
    return { ...found, needsLogin: true };
  }
  if (!greeting.isWelcome) {
    void contact.end.close();
    const { refusal } = greeting;
    if (status >= 500) return refused(status, refusal);
    try {
      contact = await openContact(options, "sse", address);
    } catch {
      return refused(status, refusal);
    }
    found.kind = "sse";
    greeting = await greet(options, contact.client, "stateful");
    if (!greeting.isWelcome) return refused(0, `the server refused initialize: ${greeting.refusal ?? "no error"}`);
  }
  try {
    found.catalogues[greeting.era] = await listWithin(contact.client, greeting, options.listMs);
  } catch (error) {
    // Some servers accept the handshake from everybody and ask for a login only when the tools are listed.
    const last = contact.heard().head?.status;
    if (last !== 401 && last !== 403) throw error;
    return { ...found, needsLogin: true };
  } finally {
    void contact.end.close();
  }
  return found;
}

const MAX_REDIRECTS = 5;

/** Describes a failed attempt: the HTTP status, and the server's own message if it sent one. */
function refused(status: number, said: string | null): Refused {
  const isOurs = said === null || said.endsWith(refusedWith(status).message) || said.endsWith(INVALID.message);
  const words = [...(status === 0 ? [] : [`status ${status}`]), ...(isOurs ? [] : [said])];
  const why = words.join(", ") || "no answer that is a message";
  return { why, details: `${why} (${said ?? "nothing"})` };
}

async function greet({ address, connectMs }: FindOptions, client: OwnClient, how: Era | "either"): Promise<Greeting> {
  try {
    return await client.greet(how);
  } catch (error) {
    const { message } = error as Error;
    if (isLate(message)) throw tooLate(address, connectMs, message);
    throw cannotConnect(address, "INVALID_RESPONSE", `Invalid response: ${message}`, message);
  }
}

function isLate(message: string): boolean {
  return message.startsWith("no answer") || message.startsWith("no whole list");
}

async function listWithin(client: OwnClient, greeting: Greeting, listMs: number): Promise<CatalogueKeeper> {
  try {
    return await client.listTools(greeting);
  } catch (error) {
    const { message } = error as Error;
    const [code, why] = isLate(message)
      ? (["TIMEOUT", `Request timeout after ${listMs}ms`] as const)
      : (["INVALID_RESPONSE", `Invalid response: ${message}`] as const);
    const cause = new ConnectionError(code, why, message);
    throw new ProxyError("TOOL_LIST_FAILED", "Failed to fetch tool list from upstream MCP", why, { cause });
  }
}

/** A session of our own with a server. */
export interface Contact {
  readonly client: OwnClient;
  readonly end: ServerEnd;
  /** The head of the last response, and the last connection error. */
  heard(): { readonly head: ResponseHead | null; readonly error: ConnectionError | null };
}

/** Opens a session of our own with a server that was found. */
export async function openContact(options: FindOptions, kind: FoundServer["kind"], address: Address): Promise<Contact> {
  const { pool, headers, permit, maxMessageBytes, connectMs, listMs, version } = options;
  let last: ResponseHead | null = null;
  let error: ConnectionError | null = null;
  const client = createOwnClient({
    send: (payload, session) => sendOwn(end, session, payload),
    exchange: BODIES,
    greetMs: connectMs,
    listMs,
    version,
  });
  const listener: ServerListener = {
    message: (payload) => client.receive(payload),
    lost: (gist) => client.lost(gist),
    isWaiting: (call) => client.isWaiting(call),
    givenUp: () => {},
    trouble: () => {},
    isFull: false,
    whenReady: (resume) => resume(),
  };
  const watch = {
    head: (head: ResponseHead): void => {
      last = head;
    },
    failed: (failure: ConnectionError): void => {
      error = failure;
    },
  };
  const end: ServerEnd =
    kind === "sse"
      ? await openSseEnd({ pool, address, headers, listener, maxMessageBytes, onEnd: () => {} })
      : createStreamableEnd({
          pool,
          path: address.path,
          headers,
          permit,
          schemaOf: () => null,
          listener,
          maxMessageBytes,
          listens: true,
          watch,
        });
  return { client, end, heard: () => ({ head: last, error }) };
}

/** The address that a redirect points to; null unless it has the same origin. */
function redirected(head: ResponseHead, address: Address): Address | null {
  if (head.status !== 307 && head.status !== 308) return null;
  const location = headerOf(head, "location");
  if (location === null) return null;
  try {
    const url = new URL(location, `${address.origin}${address.path}`);
    const path = `${url.pathname}${url.search}`;
    return url.origin === address.origin && path !== address.path ? withPath(address, path) : null;
  } catch {
    return null;
  }
}

async function within<T>(until: number, limitMs: number, address: Address, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate(address, limitMs, "no answer")), Math.max(1, until - Date.now()));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(address: Address, limitMs: number, details: string): ProxyError {
  return cannotConnect(address, "TIMEOUT", `Connection timeout after ${limitMs}ms`, details);
}

/** The error of a failed start. Its cause tells programs which of the three kinds of failure it was. */
function cannotConnect(address: Address, code: ConnectionError["code"], why: string, details: string): ProxyError {
  const cause = new ConnectionError(code, why, details);
  return new ProxyError("CONNECTION_FAILED", `Failed to connect to upstream MCP at ${address.shown}`, why, { cause });
}
