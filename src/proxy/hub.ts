import { performance } from "node:perf_hooks";
import type { SeatOptions } from "../bridge/seats.ts";
import type { PolicySettings } from "../policy/file/settings.ts";
import type { Policy } from "../policy/judge.ts";
import type { Pattern } from "../policy/patterns.ts";
import { createToolFilter } from "../policy/tool-filter.ts";
import type { AuditEvent } from "../record/event.ts";
import type { Log } from "../record/log.ts";
import { createReporter, type Reporter } from "../record/report.ts";
import { createWitness, type Witness } from "../record/witness.ts";
import type { Catalogue } from "../session/catalogue.ts";
import type { Limits, Timeouts } from "./limits.ts";

/** What all conversations of one proxy have in common: what decides, and who sees it. */
export interface Hub {
  readonly policy: Policy;
  readonly witness: Witness;
  readonly reporter: Reporter;
  readonly seats: SeatOptions;
}

/** What a hub is made of. */
export interface HubOptions {
  readonly deny: readonly Pattern[];
  readonly allow: readonly Pattern[];
  readonly log: Log;
  readonly audit: ((event: AuditEvent) => void) | null;
  readonly auditAll: boolean;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  /** What a policy file says, and where it is. */
  readonly policy: PolicySettings | null;
  readonly policyFolder: string | null;
}

const now = (): number => performance.now();

/** Makes what decides and what sees. */
export function createHub({ deny, allow, log, audit, auditAll, limits, timeouts }: HubOptions): Hub {
  const reporter = createReporter(log, now);
  const witness = createWitness({ reporter, audit, auditAll, time: Date.now, now });
  const isFiltering = deny.length > 0 || allow.length > 0;
  const onHang = (pattern: string): void =>
    log.error(`pattern stopped: it did not end on a name of the server's`, { pattern });
  const policy: Policy = { tools: isFiltering ? createToolFilter({ deny, allow, onHang }) : null };
  return {
    policy,
    witness,
    reporter,
    seats: {
      policy,
      witness,
      maxOpenCalls: limits.maxOpenCalls,
      maxParkedBytes: limits.maxParkedBytes,
      toolListMs: timeouts.toolList,
      onLearnt: createToolReport(policy, reporter),
      now,
    },
  };
}

/** Says what the filter makes of a list, and which patterns it could do without. */
function createToolReport({ tools: filter }: Policy, { report }: Reporter): (catalogue: Catalogue) => void {
  let said = "";
  return (catalogue) => {
    if (filter === null) return;
    const { allowed, hidden, unmatched } = filter.view(catalogue);
    const counts = { tools: catalogue.tools.length, hidden: hidden.length };
    const saying = JSON.stringify([[...allowed], hidden, unmatched]);
    if (saying === said) return; // the same list in another era, or fetched again
    said = saying;
    report("tools:list", "tool list", { level: "info", fields: counts });
    for (const pattern of unmatched) report("tools:unmatched", "pattern matches no tool", { fields: { pattern } });
  };
}
