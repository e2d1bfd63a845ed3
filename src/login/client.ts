import {
  allowInsecureRequests,
  type AuthorizationServer,
  type Client,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
  dynamicClientRegistrationRequest,
  None,
} from "oauth4webapi";
import type { Fetch } from "../link/fetch.ts";
import type { StoredClient } from "./store.ts";
import { loginFailed, plain, shown } from "../link/trouble.ts";

/** Options that make the library use our fetch. Whether a URL may use http is decided earlier (`readEndpoint`). */
export function requestOptions(fetch: Fetch): { [allowInsecureRequests]: true; [customFetch]: Fetch } {
  return { [allowInsecureRequests]: true, [customFetch]: fetch };
}

/** The client's credentials for the library. */
export function identify({ id, secret, method }: StoredClient): { client: Client; authentication: ClientAuth } {
  const client: Client = { client_id: id };
  if (secret === null) return { client, authentication: None() };
  return { client, authentication: method === "post" ? ClientSecretPost(secret) : basic(id, secret) };
}

/**
 * RFC 6749, 2.3.1 requires id and secret to be form-encoded. Many servers do not decode them, so only what must be
 * encoded is encoded; the library would encode hyphens too.
 */
function basic(id: string, secret: string): ClientAuth {
  const credentials = [id, secret].map(encodeURIComponent).join(":");
  return (_issuer, _client, _body, headers) => {
    headers.set("authorization", `Basic ${Buffer.from(credentials).toString("base64")}`);
  };
}

/** A client that the user registered by hand. */
export function givenClient(issuer: AuthorizationServer, id: string, secret: string | null): StoredClient {
  const known: unknown = issuer.token_endpoint_auth_methods_supported;
  // RFC 8414, 2: the default is client_secret_basic.
  const isBasic = !Array.isArray(known) || known.includes("client_secret_basic");
  return { id, secret, method: isBasic ? "basic" : "post", redirectUri: null, scopes: [], expiresAt: null };
}

/** Registers a client with an issuer (RFC 7591). */
export async function register(
  fetch: Fetch,
  issuer: AuthorizationServer,
  redirectUri: string,
  scopes: readonly string[],
): Promise<StoredClient> {
  const place = shown(new URL(issuer.issuer));
  if (issuer.registration_endpoint === undefined) {
    throw loginFailed(
      `${place} does not let clients register`,
      "Register there by hand, and give the client id you get",
    );
  }
  const known: unknown = issuer.token_endpoint_auth_methods_supported;
  const wanted = METHODS.find((method) => !Array.isArray(known) || known.includes(method)) ?? METHODS[0];
  const metadata = {
    client_name: "Fairlead",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: wanted,
    application_type: "native",
    ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
  };
  const response = await dynamicClientRegistrationRequest(issuer, metadata, requestOptions(fetch));
  const body: unknown = await response.json().catch(() => null);
  const registered = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const { client_id: id, client_secret: secret, client_secret_expires_at: expiry } = registered;
  // RFC 7591 requires 201. Many servers return 200.
  if ((response.status !== 201 && response.status !== 200) || typeof id !== "string" || id === "") {
    const reason = typeof registered["error"] === "string" ? plain(registered["error"]) : `status ${response.status}`;
    throw loginFailed(
      `${place} did not register Fairlead as a client (${reason})`,
      "Register there by hand, and give the client id you get",
    );
  }
  const method = registered["token_endpoint_auth_method"] ?? wanted;
  return {
    id,
    secret: typeof secret === "string" && secret !== "" && method !== "none" ? secret : null,
    method: method === "client_secret_post" ? "post" : "basic",
    redirectUri,
    scopes,
    expiresAt: typeof expiry === "number" && expiry > 0 ? expiry * 1000 : null,
  };
}

// In order of preference. A program on a user's machine cannot keep a secret, so it is better to have none.
const METHODS = ["none", "client_secret_basic", "client_secret_post"];
