import type { Limits } from "./limits.ts";

/** Descriptors for all that is not counted one by one: the log, the audit log, webhooks, scripts, idle connections. */
const RESERVED = 64;
/** Descriptors of a child process: its stdin and stdout, and what watches over it. */
const EACH_CHILD = 4;
/** Fewer connections than this are of no use to anybody. */
const LEAST = 4;

/**
 * Lowers limits to what the process may have open. Where descriptors run out the system itself turns clients away, in the
 * middle of anything and without a word in the log: we have to do it before.
 */
export function fitLimits(limits: Limits, hasChildren: boolean, descriptors: number | null): Limits {
  if (descriptors === null) return limits;
  const free = Math.max(descriptors - RESERVED, 0);
  const maxChildren = Math.max(1, Math.min(limits.maxChildren, Math.floor(free / 4 / EACH_CHILD)));
  const room = hasChildren ? free - maxChildren * EACH_CHILD : free / 2;
  const connections = Math.max(LEAST, Math.floor(room));
  return {
    ...limits,
    maxChildren: hasChildren ? maxChildren : limits.maxChildren,
    maxConnections: Math.min(limits.maxConnections, connections),
    maxUpstreamConnections: Math.min(limits.maxUpstreamConnections, connections),
  };
}
