import {
  type AuthorizationServer,
  AuthorizationResponseError,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
  processAuthorizationCodeResponse,
  validateAuthResponse,
} from "oauth4webapi";
import { identify, requestOptions } from "./client.ts";
import type { Place } from "./discovery.ts";
import type { Fetch } from "../link/fetch.ts";
import { readGrant, tokenTrouble, withoutIdentity } from "./grant.ts";
import { readEndpoint } from "../link/reach.ts";
import type { Redirect } from "./redirect.ts";
import type { Grant, StoredClient } from "./store.ts";
import { loginFailed, plain } from "../link/trouble.ts";

/** Options of a login in a browser. */
export interface AuthorizeRequest {
  readonly place: Place;
  readonly client: StoredClient;
  readonly scopes: readonly string[];
  readonly redirect: Redirect;
  readonly timeoutMs: number;
  /** Shows the login page to the user. */
  readonly invite: (url: string) => void;
  readonly now: () => number;
}

/** Lets the user log in, and fetches the token. */
export async function authorize(fetch: Fetch, request: AuthorizeRequest): Promise<Grant> {
  const { place, client: stored, scopes, redirect, timeoutMs, invite, now } = request;
  const { issuer, resource } = place;
  const verifier = generateRandomCodeVerifier();
  const state = generateRandomState();
  const page = readEndpoint(issuer.authorization_endpoint, "the authorization endpoint");
  const parameters: Record<string, string> = {
    response_type: "code",
    client_id: stored.id,
    redirect_uri: redirect.uri,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
    ...(resource === null ? {} : { resource }),
    // OpenID Connect, 11: without consent there is no refresh token.
    ...(scopes.includes("offline_access") ? { prompt: "consent" } : {}),
  };
  for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value);
  const coming = redirect.answer(state, timeoutMs);
  invite(page.href);
  const { client, authentication } = identify(stored);
  const answer = checkAnswer(issuer, stored, await coming, state);
  try {
    const response = await authorizationCodeGrantRequest(
      issuer,
      client,
      authentication,
      answer,
      redirect.uri,
      verifier,
      { ...requestOptions(fetch), additionalParameters: resource === null ? {} : { resource } },
    );
    const token = await processAuthorizationCodeResponse(issuer, client, await withoutIdentity(response));
    return readGrant(token, scopes, "login", now());
  } catch (error) {
    throw tokenTrouble(error);
  }
}

/** Checks the parameters of the redirect: state, issuer (RFC 9207), and whether it is an error. */
function checkAnswer(
  issuer: AuthorizationServer,
  { id }: StoredClient,
  parameters: URLSearchParams,
  state: string,
): URLSearchParams {
  try {
    return validateAuthResponse(issuer, { client_id: id }, parameters, state);
  } catch (error) {
    if (error instanceof AuthorizationResponseError) {
      const detail = error.error_description === undefined ? "" : `: ${plain(error.error_description)}`;
      throw loginFailed(`it was refused (${plain(error.error)}${detail})`, "Log in again, and allow it");
    }
    // If the redirect came from another issuer, that issuer's code would be sent to this one.
    throw loginFailed(
      "the response came from another authorization server",
      "Try again; if it fails again, contact the operator of the server",
    );
  }
}
