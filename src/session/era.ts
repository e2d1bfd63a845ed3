import type { Span } from "../message/envelope.ts";
import { findMember } from "../message/members.ts";
import { type Era, META_KEYS } from "../message/protocol.ts";

/** The era a request belongs to. One connection may carry both. */
export function eraOf(bytes: Buffer, params: Span | null): Era {
  const meta = params === null ? null : findMember(bytes, params, "_meta");
  return findClaim(bytes, meta) === null ? "stateful" : "stateless";
}

/** Where a request with this `_meta` says its revision itself, or null. */
export function findClaim(bytes: Buffer, meta: Span | null): Span | null {
  return meta === null ? null : findMember(bytes, meta, META_KEYS.protocolVersion);
}
