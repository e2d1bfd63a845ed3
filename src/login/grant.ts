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

/** Options of a refresh. */
export interface RefreshRequest {
  readonly issuer: AuthorizationServer;
  readonly client: StoredClient;
  readonly grant: Grant;
  readonly resource: string | null;
  readonly now: number;
}

/** Refreshes a token. Null if the issuer refuses and the user has to log in. */
export async function refresh(fetch: Fetch, request: RefreshRequest): Promise<Grant | null> {
  const { issuer, client: stored, grant, resource, now } = request;
  if (grant.refreshToken === null) return null;
  const { client, authentication } = identify(stored);
  try {
    const response = await refreshTokenGrantRequest(issuer, client, authentication, grant.refreshToken, {
      ...requestOptions(fetch),
      additionalParameters: resource === null ? {} : { resource },
    });
    // Whatever the body says, the issuer does not accept this refresh token.
    if (REFUSED.has(response.status)) return null;
    const answer = await processRefreshTokenResponse(issuer, client, await withoutIdentity(response));
    const next = readGrant(answer, grant.asked, "refresh", now);
    // RFC 6749, 6: without a new refresh token the old one stays valid; without a scope it is unchanged.
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

/** Makes a grant from the response of the token endpoint. */
export function readGrant(
  answer: TokenEndpointResponse,
  asked: readonly string[],
  by: Grant["by"],
  now: number,
): Grant {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: lifetime } = answer;
  // The token becomes part of a header: a line break in it would begin another header.
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

/** The response of a token endpoint without its ID token, which is not used and so need not be valid. */
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

/** The error of the token endpoint, for people. */
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
