import { createHash } from "node:crypto";
import { createRemoteJWKSet, customFetch, type FetchImplementation, type JWTPayload, jwtVerify } from "jose";
import { createFetch } from "../fetch.ts";
import type { Gate, Principal, Refusal } from "./gate-answer.ts";
import { readBearer, refusal, refuse, scopeParameter } from "./gate-tokens.ts";

/** Whose tokens are good here. */
export interface JwtGateOptions {
  /** URL of the issuer's keys. */
  readonly jwks: string;
  readonly issuer: string;
  readonly audience: string;
  /** What a token must be good for. */
  readonly scopes?: readonly string[];
}

/** A gate for those who bring a token that an issuer signed for us. */
export function createJwtGate(options: JwtGateOptions, now: () => number = Date.now): Gate {
  const { issuer, audience, scopes = [] } = options;
  const keys = createRemoteJWKSet(new URL(options.jwks), { [customFetch]: patientFetch(now) });
  const cache = new Map<string, { readonly admission: Principal | Refusal; readonly until: number }>();

  function remember(key: string, admission: Principal | Refusal, expiry: number): void {
    // Not for as long as it lives: keys are withdrawn.
    const until = Math.min(expiry * 1000, now() + MAX_CACHED_MS);
    if (cache.size >= MAX_CACHED)
      for (const oldest of [...cache.keys()].slice(0, MAX_CACHED / 10)) cache.delete(oldest);
    cache.set(key, { admission, until });
  }

  async function verify(token: string, key: string): Promise<Principal | Refusal> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ["exp", "sub"],
        clockTolerance: LEEWAY_S,
        currentDate: new Date(now()),
      });
      // A token that says it is something else (a logout, a proof) was signed for something else.
      if (protectedHeader.typ !== undefined && !TYPES.test(protectedHeader.typ)) return invalid(scopes);
      const admission = judge(payload, issuer, scopes);
      remember(key, admission, payload.exp ?? 0);
      return admission;
    } catch {
      // Also where the keys cannot be had: who cannot be known does not come in.
      return invalid(scopes);
    }
  }

  return {
    admit(authorization) {
      const token = readBearer(authorization);
      if (token === null) return refuse(authorization, scopes);
      const key = createHash("sha256").update(token).digest("base64url");
      const cached = cache.get(key);
      if (cached === undefined) return verify(token, key);
      if (cached.until > now()) return cached.admission;
      cache.delete(key);
      return verify(token, key);
    },
  };
}

// No `none`, and nothing with a shared secret: a public key would be taken for one.
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");
const TYPES = /^(?:application\/)?(?:at\+)?jwt$/i;
const LEEWAY_S = 30;
const MAX_CACHED = 1000;
const MAX_CACHED_MS = 300_000;
/** How long keys that could not be had are not asked for again. */
const RETRY_MS = 5000;

function invalid(scopes: readonly string[]): Refusal {
  return refusal(401, ['error="invalid_token"', scopeParameter(scopes)]);
}

/** Whether a good token is good for this. */
function judge(payload: JWTPayload, issuer: string, scopes: readonly string[]): Principal | Refusal {
  const { sub, scope, scp } = payload;
  const granted = new Set([scope, scp].flat().flatMap((value) => (typeof value === "string" ? value.split(" ") : [])));
  if (typeof sub !== "string" || sub === "") return invalid(scopes);
  if (!scopes.every((each) => granted.has(each))) {
    return refusal(403, ['error="insufficient_scope"', scopeParameter(scopes)]);
  }
  return { id: `${issuer}|${sub}` };
}

/** Fetches keys. Whoever sends us bad tokens must not have us ask for keys that cannot be had, over and over. */
function patientFetch(now: () => number): FetchImplementation {
  const fetch = createFetch({ nearest: 2, ca: null, dial: null }); // the user named the place, not a server
  let failedAt = -Infinity;
  return async (url, { headers }) => {
    if (now() - failedAt < RETRY_MS) throw new Error("the keys could not be had a moment ago");
    try {
      const response = await fetch(url, { method: "GET", headers: Object.fromEntries(headers.entries()) });
      if (response.status !== 200) failedAt = now();
      return response;
    } catch (error) {
      failedAt = now();
      throw error;
    }
  };
}
