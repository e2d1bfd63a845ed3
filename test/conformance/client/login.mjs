import {
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  DpopSession,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  requestJwtAuthorizationGrant,
} from "@modelcontextprotocol/client";
import { createBrowserLogin } from "./browser-login.mjs";
import { context, createClient } from "./connect.mjs";

// All of these go through a login page; the scenarios differ in what their servers do.
const BROWSER = [
  "2025-03-26-oauth-endpoint-fallback",
  "2025-03-26-oauth-metadata-backcompat",
  "authorization-server-migration",
  "basic-cimd",
  "iss-normalized",
  "iss-not-advertised",
  "iss-supported",
  "iss-supported-missing",
  "iss-unexpected",
  "iss-wrong-issuer",
  "metadata-default",
  "metadata-issuer-mismatch",
  "metadata-var1",
  "metadata-var2",
  "metadata-var3",
  "offline-access-not-supported",
  "offline-access-scope",
  "resource-mismatch",
  "scope-from-scopes-supported",
  "scope-from-www-authenticate",
  "scope-omitted-when-undefined",
  "scope-retry-limit",
  "scope-step-up",
  "token-endpoint-auth-basic",
  "token-endpoint-auth-none",
  "token-endpoint-auth-post",
];

// How often a person would go through the login page before giving up.
const MAX_LOGINS = 2;

/** The scenarios whose server wants a login. */
export const loginScenarios = [
  ...BROWSER.map((name) => [`auth/${name}`, (url) => converse(url, createBrowserLogin())]),
  ["auth/pre-registration", (url) => converse(url, createBrowserLogin({ client: registered() }))],
  ["auth/dpop", converseWithProofs],
  ["auth/dpop-nonce", converseWithProofs],
  ["auth/client-credentials-jwt", (url) => converse(url, keyLogin())],
  ["auth/client-credentials-basic", (url) => converse(url, secretLogin())],
  ["auth/enterprise-managed-authorization", (url) => converse(url, enterpriseLogin())],
  ["auth/wif-jwt-bearer", (url) => converse(url, workloadLogin())],
];

async function converse(url, login) {
  let client;
  let transport;
  await step(async () => {
    client = createClient();
    transport = new StreamableHTTPClientTransport(url, { authProvider: login });
    await client.connect(transport);
  });
  await step(() => client.listTools());
  await step(() => client.callTool({ name: "test-tool", arguments: {} }));
  await client.close();

  // The SDK stops where a person has to log in. The page has answered by then, and the step is taken again.
  async function step(action) {
    for (let logins = 0; ; logins += 1) {
      try {
        return await action();
      } catch (error) {
        if (!(error instanceof UnauthorizedError) || logins === MAX_LOGINS) throw error;
        await transport.finishAuth(login.callback());
      }
    }
  }
}

// Every request carries a fresh proof that it comes from whoever the token was given to.
async function converseWithProofs(url) {
  const session = await DpopSession.create();
  await converse(url, createBrowserLogin({ dpop: () => session }));
}

function registered() {
  return { client_id: context.client_id, client_secret: context.client_secret };
}

function keyLogin() {
  const { client_id: clientId, private_key_pem: privateKey, signing_algorithm: algorithm = "ES256" } = context;
  return new PrivateKeyJwtProvider({ clientId, privateKey, algorithm });
}

function secretLogin() {
  return new ClientCredentialsProvider({ clientId: context.client_id, clientSecret: context.client_secret });
}

// The company's identity provider vouches for the user, and nobody has to click.
function enterpriseLogin() {
  return new CrossAppAccessProvider({
    clientId: context.client_id,
    clientSecret: context.client_secret,
    async assertion({ authorizationServerUrl, resourceUrl, fetchFn }) {
      const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
        tokenEndpoint: context.idp_token_endpoint,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken: context.idp_id_token,
        clientId: context.idp_client_id,
        fetchFn,
      });
      return jwtAuthGrant;
    },
  });
}

// The platform that runs the program vouches for it.
function workloadLogin() {
  let tokens;
  return {
    redirectUrl: undefined,
    clientMetadata: {
      client_name: "fairlead-conformance-client",
      redirect_uris: [],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => ({ client_id: context.client_id }),
    tokens: () => tokens,
    saveTokens(value) {
      tokens = value;
    },
    prepareTokenRequest(scope) {
      const grant = { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: context.valid_jwt };
      return new URLSearchParams(scope === undefined ? grant : { ...grant, scope });
    },
  };
}
