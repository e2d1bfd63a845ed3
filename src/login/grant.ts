import {
  type AuthorizationServer,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  ResponseBodyError,
  type TokenEndpointResponse,
} from "oauth4webapi";
import { parseScopes } from "./challenge.ts";
import { identify, requestOptions } from "./client.ts";
import type { Fetch } from "../link/fetch.ts";
import type { Grant, StoredClient } from "./store.ts";
import { loginFailed, plain } from "../link/trouble.ts";

/** What a refresh needs to know. */
export interface RefreshRequest {
  readonly issuer: AuthorizationServer;
  readonly client: StoredClient;
  readonly grant: Grant;
  readonly resource: string | null;
  readonly now: number;
}

/** Has a token refreshed. Null where the issuer will not, and only a person can help. */
export async function refresh(fetch: Fetch, request: RefreshRequest): Promise<Grant | null> {
  const { issuer, client: stored, grant, resource, now } = request;
  if (grant.refreshToken === null) return null;
  const { client, authentication } = identify(stored);
  try {
    const response = await refreshTokenGrantRequest(issuer, client, authentication, grant.refreshToken, {
      ...requestOptions(fetch),
      additionalParameters: resource === null ? {} : { resource },
    });
    // Whatever else it says: this refresh token is worth nothing to it.
    if (REFUSED.has(response.status)) return null;
    const answer = await processRefreshTokenResponse(issuer, client, await withoutIdentity(response));
    const next = readGrant(answer, grant.asked, "refresh", now);
    // RFC 6749, 6: no new refresh token means that the old one stays good; no scope, that it is the same.
    const hasScope = answer.scope !== undefined;
    return {
      ...next,
      refreshToken: next.refreshToken ?? grant.refreshToken,
      scopes: hasScope ? next.scopes : grant.scopes,
    };
  } catch (error) {
    throw tokenTrouble(error);
  }
}

/** Makes a grant of what the token endpoint answered. */
export function readGrant(
  answer: TokenEndpointResponse,
  asked: readonly string[],
  by: Grant["by"],
  now: number,
): Grant {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: lifetime } = answer;
  // It becomes a header: what ends a line there would begin another header.
  if (!TOKEN.test(accessToken) || accessToken.length > MAX_TOKEN)
    throw loginFailed("the token has characters that are not allowed, or is too long", RETRY);
  if (answer.token_type !== "bearer") throw loginFailed("the token is not a bearer token", RETRY);
  return {
    accessToken,
    refreshToken: refreshToken ?? null,
    expiresAt: lifetime === undefined ? null : now + lifetime * 1000,
    scopes: answer.scope === undefined ? asked : parseScopes(answer.scope),
    asked,
    by,
    at: now,
  };
}

/** The answer of a token endpoint without who logged in: nobody here asks, so nothing about it need be right. */
export async function withoutIdentity(response: Response): Promise<Response> {
  if (response.status !== 200) return response;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  if (typeof body !== "object" || body === null || !("id_token" in body)) return response;
  const { id_token: _, ...rest } = body;
  return new Response(JSON.stringify(rest), { status: 200, headers: { "content-type": "application/json" } });
}

/** What went wrong at the token endpoint, for people. */
export function tokenTrouble(error: unknown): Error {
  if (error instanceof Error && error.name === "ProxyError") return error;
  if (!(error instanceof ResponseBodyError))
    return loginFailed("the token endpoint did not answer as it should", RETRY);
  const detail = error.error_description === undefined ? "" : `: ${plain(error.error_description)}`;
  return loginFailed(`no token (${plain(error.error)}${detail})`, RETRY);
}

const RETRY = "Try again; if it fails again, contact the operator of the server";
const REFUSED = new Set([400, 401, 403]);
const TOKEN = /^[\x21-\x7e]+$/;
const MAX_TOKEN = 16_384;
