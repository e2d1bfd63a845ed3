import type { Span } from "../message/envelope.ts";
import { findMember } from "../message/members.ts";

/** The two ways of speaking MCP: with a handshake and a session, or with everything in each request. */
export type Era = "stateful" | "stateless";

/** The key in `_meta` by which a request of 2026-07-28 and later says its revision. */
export const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

/** The first revision of the stateless era. Later ones sort behind it. */
export const FIRST_STATELESS = "2026-07-28";

/** The era a request belongs to. One connection may carry both. */
export function eraOf(bytes: Buffer, params: Span | null): Era {
  const meta = params === null ? null : findMember(bytes, params, "_meta");
  return findClaim(bytes, meta) === null ? "stateful" : "stateless";
}

/** Where a request with this `_meta` says its revision itself, or null. */
export function findClaim(bytes: Buffer, meta: Span | null): Span | null {
  return meta === null ? null : findMember(bytes, meta, VERSION_KEY);
}
