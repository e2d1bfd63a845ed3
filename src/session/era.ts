import type { Span } from "../message/envelope.ts";
import { findMember } from "../message/members.ts";
import { type Era, META_KEYS } from "../message/protocol.ts";

/** The era of a request. Requests of both eras may share a connection. */
export function eraOf(bytes: Buffer, params: Span | null): Era {
  const meta = params === null ? null : findMember(bytes, params, "_meta");
  return findClaim(bytes, meta) === null ? "stateful" : "stateless";
}

/** Where the `_meta` of a request names its revision, or null. */
export function findClaim(bytes: Buffer, meta: Span | null): Span | null {
  return meta === null ? null : findMember(bytes, meta, META_KEYS.protocolVersion);
}
