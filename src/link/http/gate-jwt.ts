import { createHash } from "node:crypto";
import { createRemoteJWKSet, customFetch, type FetchImplementation, type JWTPayload, jwtVerify } from "jose";
import { createFetch } from "../fetch.ts";
import type { Gate, Principal, Refusal } from "./gate-answer.ts";
import { readBearer, refusal, refuse, scopeParameter } from "./gate-tokens.ts";

/** Options of a gate for signed tokens. */
export interface JwtGateOptions {
  /** URL of the issuer's keys. */
  readonly jwks: string;
  readonly issuer: string;
  readonly audience: string;
  /** The scopes that a token must have. */
  readonly scopes?: readonly string[];
}

/** A gate for clients with a token that the issuer signed for this audience. */
export function createJwtGate(options: JwtGateOptions, now: () => number = Date.now): Gate {
  const { issuer, audience, scopes = [] } = options;
  const keys = createRemoteJWKSet(new URL(options.jwks), { [customFetch]: patientFetch(now) });
  const cache = new Map<string, { readonly admission: Principal | Refusal; readonly until: number }>();

  function remember(key: string, admission: Principal | Refusal, expiry: number): void {
    // Not for the whole lifetime of the token, because keys may be withdrawn.
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
      // A token with another type (a logout token, a proof) was signed for another purpose.
      if (protectedHeader.typ !== undefined && !TYPES.test(protectedHeader.typ)) return invalid(scopes);
      const admission = judge(payload, issuer, scopes);
      remember(key, admission, payload.exp ?? 0);
      return admission;
    } catch {
      // Also if the keys cannot be fetched: a client that cannot be verified is refused.
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

// Neither `none` nor algorithms with a shared secret: an attacker could use the public key as the secret.
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");
const TYPES = /^(?:application\/)?(?:at\+)?jwt$/i;
const LEEWAY_S = 30;
const MAX_CACHED = 1000;
const MAX_CACHED_MS = 300_000;
/** How long to wait before fetching keys again after a failure. */
const RETRY_MS = 5000;

function invalid(scopes: readonly string[]): Refusal {
  return refusal(401, ['error="invalid_token"', scopeParameter(scopes)]);
}

/** Whether a valid token has the required scopes. */
function judge(payload: JWTPayload, issuer: string, scopes: readonly string[]): Principal | Refusal {
  const { sub, scope, scp } = payload;
  const granted = new Set([scope, scp].flat().flatMap((value) => (typeof value === "string" ? value.split(" ") : [])));
  if (typeof sub !== "string" || sub === "") return invalid(scopes);
  if (!scopes.every((each) => granted.has(each))) {
    return refusal(403, ['error="insufficient_scope"', scopeParameter(scopes)]);
  }
  return { id: `${issuer}|${sub}` };
}

/**
 * Fetches keys, with a pause after a failure: otherwise a client could make the proxy request unavailable keys again
 * and again by sending invalid tokens.
 */
function patientFetch(now: () => number): FetchImplementation {
  // the user configured this URL, so private addresses are allowed
  const fetch = createFetch({ nearest: 2, ca: null, dial: null });
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
