const CALLBACK = "http://localhost:3000/callback";
const CLIENT_METADATA = "https://conformance-test.local/client-metadata.json";

/**
 * The login of a person with a browser, without either: the authorization server of a scenario redirects at once,
 * and `callback()` is what the browser would have brought back. A `client` is one that is registered already.
 */
export function createBrowserLogin({ client, dpop } = {}) {
  const kept = { client };
  return {
    redirectUrl: CALLBACK,
    clientMetadata: { client_name: "fairlead-conformance-client", redirect_uris: [CALLBACK] },
    clientMetadataUrl: client === undefined ? CLIENT_METADATA : undefined,
    dpop: () => dpop?.(),

    // What is saved comes back as it was. The SDK writes the issuer into it, and so notices another one.
    clientInformation: () => kept.client,
    saveClientInformation: (value) => keep("client", value),
    tokens: () => kept.tokens,
    saveTokens: (value) => keep("tokens", value),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (value) => keep("verifier", value),
    invalidateCredentials(scope) {
      for (const name of scope === "all" ? Object.keys(kept) : [scope]) delete kept[name];
    },

    async redirectToAuthorization(url) {
      const response = await fetch(url, { redirect: "manual" });
      const location = response.headers.get("location");
      if (location === null) throw new Error(`${url} did not redirect.`);
      keep("callback", new URL(location).searchParams);
    },
    callback: () => kept.callback,
  };

  function keep(name, value) {
    kept[name] = value;
  }
}
