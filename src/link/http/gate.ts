import { ProxyError } from "../../errors.ts";
import { isLoopback } from "../loopback.ts";
import type { Gate } from "./gate-answer.ts";
import type { JwtGateOptions } from "./gate-jwt.ts";
import { createTokenGate, type NamedToken } from "./gate-tokens.ts";

export { readTokenFile } from "./gate-file.ts";

/** Configured tokens, or tokens that an issuer signs. */
export type GateOptions = { readonly tokens: readonly NamedToken[] } | JwtGateOptions;

/** Makes a gate. Throws a ProxyError if its options are invalid. */
export function createGate(options: GateOptions): Gate {
  if ("tokens" in options) return createTokenGate(options.tokens);
  checkKeys(options.jwks);
  for (const scope of options.scopes ?? []) checkScope(scope);
  let loaded: Gate | null = null;
  const loading = (): Promise<Gate> => import("./gate-jwt.ts").then(({ createJwtGate }) => createJwtGate(options));
  let gate: Promise<Gate> | null = null;
  return {
    admit(authorization) {
      if (loaded !== null) return loaded.admit(authorization);
      gate ??= loading();
      return gate.then((made) => (loaded = made).admit(authorization));
    },
  };
}

/** Keys must not be fetched over plain http, except from this machine: whoever can replace them can let anybody in. */
function checkKeys(jwks: string): void {
  const url = URL.canParse(jwks) ? new URL(jwks) : null;
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname))) return;
  throw new ProxyError(
    "BAD_TOKENS",
    "The keys to check tokens with are not at an https URL",
    "Give a URL with https://",
  );
}

function checkScope(scope: string): void {
  if (/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)) return;
  throw new ProxyError("BAD_TOKENS", `Not a scope: ${JSON.stringify(scope)}`, "Write words without spaces and quotes");
}
