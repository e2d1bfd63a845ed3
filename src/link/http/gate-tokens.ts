import { createHash, timingSafeEqual } from "node:crypto";
import type { Gate, Principal, Refusal } from "./gate-answer.ts";

/** A configured token and its name. */
export interface NamedToken {
  readonly name: string;
  readonly token: string;
}

/** A gate for clients that know one of the configured tokens. */
export function createTokenGate(tokens: readonly NamedToken[]): Gate {
  const known = tokens.map(({ name, token }) => ({ principal: { id: name }, digest: digest(token) }));
  return {
    admit(authorization) {
      const token = readBearer(authorization);
      if (token === null) return refuse(authorization);
      const given = digest(token);
      let found: Principal | null = null;
      // Compare with all tokens, and by hash, so that the duration reveals nothing about any of them.
      for (const { principal, digest } of known) if (timingSafeEqual(given, digest)) found = principal;
      return found ?? INVALID;
    },
  };
}

/** The token in an Authorization header (RFC 6750, 2.1), or null. */
export function readBearer(authorization: string | null): string | null {
  if (authorization === null || authorization.length > MAX_HEADER) return null;
  return /^Bearer +([\w.~+/-]+=*) *$/i.exec(authorization)?.[1] ?? null;
}

/** RFC 6750, 3.1: a request without a token gets a challenge without an error code. */
export function refuse(authorization: string | null, scopes: readonly string[] = []): Refusal {
  const isBearer = authorization !== null && /^Bearer(?:\s|$)/i.test(authorization);
  return refusal(401, [isBearer ? 'error="invalid_token"' : "", scopeParameter(scopes)]);
}

/** Makes a refusal. Empty parameters are left out. */
export function refusal(status: 401 | 403, parameters: readonly string[]): Refusal {
  const present = parameters.filter((parameter) => parameter !== "");
  return { status, challenge: ["Bearer", present.join(", ")].join(" ").trimEnd() };
}

/** The required scopes as a parameter of a challenge. */
export function scopeParameter(scopes: readonly string[]): string {
  return scopes.length === 0 ? "" : `scope="${scopes.join(" ")}"`;
}

const MAX_HEADER = 16_384;
const INVALID = refusal(401, ['error="invalid_token"']);

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
