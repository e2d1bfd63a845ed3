import type { Span } from "../message/envelope.ts";
import { findMember } from "../message/members.ts";
import { type Era, META_KEYS } from "../message/protocol.ts";

/** The era a request belongs to. One connection may carry both. */
export function eraOf(bytes: Buffer, params: Span | null): Era {
  return findClaim(bytes, params) === null ? "stateful" : "stateless";
}

/** Where a request says its revision itself, or null. */
export function findClaim(bytes: Buffer, params: Span | null): Span | null {
  const meta = params === null ? null : findMember(bytes, params, "_meta");
  return meta === null ? null : findMember(bytes, meta, META_KEYS.protocolVersion);
}
