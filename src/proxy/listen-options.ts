import type { Settings } from "../config/merge-settings.ts";
import type { AuthSettings } from "../config/settings.ts";
import { type GateOptions, readTokenFile } from "../link/http/gate.ts";
import type { ListenSettings } from "./proxy-options.ts";

/** The settings for HTTP clients; null for stdin and stdout. Reads the file of tokens. */
export function listenOf({ listen, auth }: Settings): ListenSettings | null {
  if (listen === null) return null;
  const gate = auth === null ? null : gateOf(auth);
  const identityHeader = auth?.identityHeader ?? null;
  return {
    host: listen.host,
    port: listen.port,
    ...(gate === null ? {} : { auth: gate }),
    ...(identityHeader === null ? {} : { identityHeader }),
  };
}

function gateOf(auth: AuthSettings): GateOptions | null {
  switch (auth.kind) {
    case "open":
      return null;
    case "tokens":
      return { tokens: readTokenFile(auth.file) };
    case "jwt": {
      const { jwks, issuer, audience, scopes } = auth;
      return { jwks, issuer, audience, ...(scopes.length === 0 ? {} : { scopes }) };
    }
  }
}
