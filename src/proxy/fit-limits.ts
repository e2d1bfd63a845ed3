import { descriptorLimit } from "../link/descriptors.ts";
import type { Log } from "../record/log/log.ts";
import { DEFAULT_LIMITS, type Limits } from "./limits.ts";
import type { ProxyOptions } from "./proxy-options.ts";

/** The limits, lowered if there are too few file descriptors for them. */
export function readLimits({ limits, upstream, listen }: ProxyOptions, log: Log): Limits {
  const wanted = { ...DEFAULT_LIMITS, ...limits };
  const descriptors = descriptorLimit();
  const fitting = fitLimits(wanted, upstream === undefined, descriptors);
  if (listen !== undefined && fitting.maxConnections < Math.min(wanted.maxConnections, FEW_CONNECTIONS))
    log.info("the limit on open files and sockets is low: fewer connections are accepted", {
      limit: descriptors,
      connections: fitting.maxConnections,
    });
  return fitting;
}

/** A lower limit than this is logged. */
const FEW_CONNECTIONS = 1000;

/**
 * Descriptors for everything that is not counted one by one: the log, the audit log, webhooks, scripts, idle
 * connections.
 */
const RESERVED = 64;
/** Descriptors of a child process: its stdin and stdout, and its watchdog. */
const EACH_CHILD = 4;
/** The least number of connections that is useful. */
const LEAST = 4;

/**
 * Lowers limits to the number of files that the process may have open. If descriptors ran out, the system would refuse
 * clients at any point and without a log line, so the proxy has to refuse them before that.
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
