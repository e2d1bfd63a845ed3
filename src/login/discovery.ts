import { type AuthorizationServer, processDiscoveryResponse } from "oauth4webapi";
import { type Challenge, parseScopes } from "./challenge.ts";
import type { Fetch } from "../link/fetch.ts";
import { readEndpoint } from "../link/reach.ts";
import { loginFailed, plain, shown } from "../link/trouble.ts";

/** The authorization server for a server, and what to request there. */
export interface Place {
  readonly issuer: AuthorizationServer;
  /** Whether the issuer has no metadata, so that the default endpoints of 2025-03-26 are used. */
  readonly isGuessed: boolean;
  /** The server's resource identifier (RFC 8707); null if it has no metadata. */
  readonly resource: string | null;
  /** The scopes that the server supports. */
  readonly scopes: readonly string[];
}

/** Finds the authorization server for a server. */
export async function discover(fetch: Fetch, server: URL, challenge: Challenge): Promise<Place> {
  const metadata = await findResource(fetch, server, challenge.resourceMetadata);
  const named = metadata?.["authorization_servers"];
  const [first] = Array.isArray(named) ? named : [];
  const resource = metadata === null ? null : String(metadata["resource"]);
  const scopes = scopesOf(metadata?.["scopes_supported"]);
  if (first !== undefined) {
    const url = readEndpoint(first, "the authorization server");
    const issuer = await findIssuer(fetch, url);
    if (issuer !== null) return { issuer, isGuessed: false, resource, scopes };
    throw loginFailed(`${shown(url)} has no metadata of an authorization server`, BROKEN);
  }
  // Authorization, 2025-03-26: the server is its own authorization server.
  const origin = new URL(server.origin);
  const issuer = await findIssuer(fetch, origin);
  if (issuer !== null) return { issuer, isGuessed: false, resource, scopes };
  return { issuer: guessIssuer(origin), isGuessed: true, resource, scopes };
}

/**
 * Reads an issuer's metadata: at the RFC 8414 location, then at the two locations of OpenID Connect. Null if there is
 * none.
 */
export async function findIssuer(fetch: Fetch, url: URL): Promise<AuthorizationServer | null> {
  const path = url.pathname.replace(/\/$/, "");
  const places = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${path}/.well-known/openid-configuration`]),
  ];
  for (const place of places) {
    const response = await get(fetch, new URL(place, url.origin));
    if (response === null) continue;
    return checkIssuer(url, response);
  }
  return null;
}

/** The default endpoints of 2025-03-26 for servers without metadata. */
export function guessIssuer(origin: URL): AuthorizationServer {
  const at = (path: string): string => new URL(path, origin).href;
  return {
    issuer: origin.origin,
    authorization_endpoint: at("/authorize"),
    token_endpoint: at("/token"),
    registration_endpoint: at("/register"),
  };
}

const BROKEN = "The server's login is not set up right; contact its operator";

async function checkIssuer(url: URL, response: Response): Promise<AuthorizationServer> {
  let issuer: AuthorizationServer;
  try {
    // RFC 8414, 3.3: the issuer must be the one that was asked for, or a server could impersonate another.
    issuer = await processDiscoveryResponse(url, response);
  } catch {
    throw loginFailed(`the metadata of ${shown(url)} is not its own`, BROKEN);
  }
  readEndpoint(issuer.authorization_endpoint, "the authorization endpoint");
  readEndpoint(issuer.token_endpoint, "the token endpoint");
  if (issuer.registration_endpoint !== undefined) readEndpoint(issuer.registration_endpoint, "the registration");
  const methods: unknown = issuer.code_challenge_methods_supported;
  // Some servers support S256 without saying so. One that lists its methods without S256 cannot be used.
  if (Array.isArray(methods) && !methods.includes("S256")) {
    throw loginFailed(`${shown(url)} does not know PKCE with S256`, BROKEN);
  }
  return issuer;
}

/** Reads the server's metadata as a protected resource (RFC 9728). Null if it has none. */
async function findResource(fetch: Fetch, server: URL, named: string | null): Promise<Record<string, unknown> | null> {
  const wellKnown = new URL("/.well-known/oauth-protected-resource", server);
  const path = server.pathname.replace(/\/$/, "");
  const places = [new URL(`${wellKnown.pathname}${path}${server.search}`, server), wellKnown];
  if (named !== null && URL.canParse(named) && new URL(named).origin === server.origin) places.unshift(new URL(named));
  const tried = new Set<string>();
  for (const place of places) {
    if (tried.has(place.href)) continue;
    tried.add(place.href);
    const metadata: unknown = await (await get(fetch, place))?.json();
    if (metadata === undefined || !isObject(metadata)) continue;
    checkResource(server, metadata["resource"]);
    return metadata;
  }
  return null;
}

/** RFC 9728, 3.3: a server must not obtain a token for another server. A parent path may stand for paths below it. */
function checkResource(server: URL, resource: unknown): void {
  const url = typeof resource === "string" && URL.canParse(resource) ? new URL(resource) : null;
  const parent = url?.pathname.replace(/\/$/, "");
  const isOurs =
    url !== null &&
    url.origin === server.origin &&
    (server.pathname === url.pathname || server.pathname === parent || server.pathname.startsWith(`${parent}/`)) &&
    (url.search === "" || url.search === server.search);
  if (isOurs) return;
  const claimed = typeof resource === "string" ? plain(resource) : "nothing";
  throw loginFailed(`the metadata of ${shown(server)} speaks for ${claimed}`, BROKEN);
}

/** Fetches a JSON document; null if it is missing or not JSON. */
async function get(fetch: Fetch, url: URL): Promise<Response | null> {
  const response = await fetch(url.href, { method: "GET", headers: { accept: "application/json" } });
  const isThere = response.status === 200 && response.headers.get("content-type") === "application/json";
  return isThere ? response : null;
}

function scopesOf(value: unknown): string[] {
  return Array.isArray(value) ? parseScopes(value.filter((scope) => typeof scope === "string").join(" ")) : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
