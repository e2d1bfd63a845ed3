import { performance } from "node:perf_hooks";
import type { SeatOptions } from "../bridge/seats.ts";
import { MAX_DEPTH } from "../message/scan.ts";
import type { NameSettings, PolicySettings } from "../config/settings.ts";
import type { Policy } from "../policy/judge.ts";
import type { Pattern } from "../policy/patterns.ts";
import type { ResultJudge } from "../policy/results/result-judge.ts";
import { createToolFilter } from "../policy/tool-filter.ts";
import type { AuditEvent, PolicyStamp } from "../record/event.ts";
import type { Log } from "../record/log/log.ts";
import { createReporter, type Reporter } from "../record/log/report.ts";
import type { Observer } from "../record/observers.ts";
import { createWitness, type Witness } from "../record/witness.ts";
import type { Rulebook } from "../relay/decide.ts";
import type { Catalogue } from "../session/catalogue.ts";
import { type ServerId, UNNAMED_SERVER } from "../session/session-view.ts";
import type { Tap } from "../wire/tap.ts";
import type { Limits, Timeouts } from "./limits.ts";
import { createNameFilters, type NamePolicy, readNames, type ToolManners } from "./names.ts";
import type { PinKeeper } from "./pin-keeper.ts";
import { stampPolicy } from "./policy-stamp.ts";
import { createSafeTap } from "./safe-tap.ts";

/** What all sessions of one proxy share: the rules, and those who record what happens. */
export interface Hub {
  readonly server: ServerId;
  readonly rulebook: Rulebook;
  readonly witness: Witness;
  readonly reporter: Reporter;
  readonly seats: SeatOptions;
  /** Receives a copy of the bytes on both sides; null if nothing is attached. */
  readonly tap: Tap | null;
  readonly makePolicy: MakePolicy;
  /** How lists are cached and refreshed. */
  readonly tools: Pick<ToolManners, "cache" | "refresh">;
}

/** Options of a hub. */
export interface HubOptions {
  readonly deny: readonly Pattern[];
  readonly allow: readonly Pattern[];
  /** Further filters by name; none by default. */
  readonly names?: NamePolicy;
  /** The pins of the server's tools; null if there are none. */
  readonly pins?: PinKeeper | null;
  readonly log: Log;
  readonly audit: ((event: AuditEvent) => void) | null;
  readonly auditAll: boolean;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  /** The settings of a policy file. */
  readonly policy: PolicySettings | null;
  /** Whether the policy only observes. */
  readonly observe?: boolean;
  /** The server's name; null if nothing records it. */
  readonly server?: ServerId | null;
  /** Are called with everything that happens. */
  readonly observers?: readonly Observer[];
  /** Receives a copy of the bytes on both sides. */
  readonly tap?: Tap | null;
}

const now = (): number => performance.now();

/** Makes a hub. */
export function createHub(options: HubOptions): Hub {
  const { deny, allow, pins = null, log, audit, auditAll, limits, timeouts, observe = false, observers = [] } = options;
  const server = options.server ?? UNNAMED_SERVER;
  const names = options.names ?? namesIn(options.policy);
  const reporter = createReporter(log, now);
  const interceptor = options.policy?.interceptor ?? null;
  const stamp = stampPolicy({ deny, allow, names, interceptor, observe });
  const stampNow = (): PolicyStamp | undefined => rulebook.current.stamp;
  const seen = { reporter, audit, auditAll, time: Date.now, now, server, stamp: stampNow, observers };
  const witness = createWitness(seen);
  const makePolicy = createPolicyMaker(log, reporter, pins);
  const policy = makePolicy(options, names, null);
  const rulebook: Rulebook = { current: { policy, chain: null, observe: false, stamp } };
  const { cache, refresh } = names.tools;
  return {
    server,
    rulebook,
    witness,
    reporter,
    tap: options.tap == null ? null : createSafeTap(options.tap, reporter),
    makePolicy,
    tools: { cache, refresh },
    seats: {
      rulebook,
      witness,
      server,
      maxOpenCalls: limits.maxOpenCalls,
      maxParkedBytes: limits.maxParkedBytes,
      maxDepth: Math.min(limits.maxDepth, MAX_DEPTH),
      toolListMs: timeouts.toolList,
      keepsTools: refresh === "never",
      onLearnt: createToolReport(rulebook, pins, reporter),
      now,
    },
  };
}

/** The filters by name in a policy file, without the patterns for tools. */
export function namesIn(policy: PolicySettings | null): NamePolicy {
  if (policy === null) return readNames(undefined);
  const { tools, prompts, resources } = policy;
  return { tools: { ...tools, deny: [], allow: [] }, prompts, resources };
}

/** Makes a policy from patterns and further filters by name. */
export type MakePolicy = (lists: NameSettings, names: NamePolicy, results: ResultJudge | null) => Policy;

/** Loads what checks the server's results, if that is configured. */
export async function loadResultJudge(validate: "lists" | "results", reporter: Reporter): Promise<ResultJudge | null> {
  if (validate === "lists") return null;
  const { createResultJudge } = await import("../policy/results/result-judge.ts");
  return createResultJudge({
    onUnchecked(tool, keywords) {
      const text = "the output schema of a tool is not checked as a whole";
      reporter.report("validate:unchecked", text, { level: "info", fields: { tool, keywords: keywords.join(", ") } });
    },
  });
}

function createPolicyMaker(log: Log, reporter: Reporter, pins: PinKeeper | null): MakePolicy {
  const onHang = (pattern: string): void =>
    log.error(
      "matching a name from the server took too long: the pattern is not used again, and if it denies, new names are hidden",
      { pattern },
    );
  const onSlow = (pattern: string): void =>
    reporter.report("names:slow-pattern", "pattern took too long: the entry that it was matched against is hidden", {
      fields: { pattern },
    });
  return (lists, names, results) => {
    const { notFound, hide } = names.tools;
    const deny = [...lists.deny, ...names.tools.deny];
    const allow = [...lists.allow, ...names.tools.allow];
    const isFiltering = deny.length > 0 || allow.length > 0 || pins !== null;
    const manners = { notFound: notFound ?? "contract", isStrict: hide === "strict" } as const;
    return {
      tools: isFiltering ? createToolFilter({ deny, allow, onHang, pins, ...manners }) : null,
      names: createNameFilters(names, onSlow),
      results,
    };
  };
}

/** Makes a function that logs which tools of a list are hidden, and which patterns match nothing. */
function createToolReport(
  rulebook: Rulebook,
  pins: PinKeeper | null,
  reporter: Reporter,
): (catalogue: Catalogue) => void {
  const { report } = reporter;
  let said = "";
  return (catalogue) => {
    const { tools: filter } = rulebook.current.policy;
    if (filter === null) return;
    pins?.learnt(catalogue, reporter);
    const { allowed, hidden, odd, unmatched } = filter.view(catalogue);
    const counts = { tools: catalogue.tools.length, hidden: hidden.length };
    const { faults } = catalogue;
    const saying = JSON.stringify([[...allowed], hidden, odd, unmatched, faults]);
    if (saying === said) return; // the same list in another era, or fetched again
    said = saying;
    report("tools:list", "tool list", { level: "info", fields: counts });
    for (const tool of odd) {
      report("tools:odd-text", "the description of a tool has invisible text", { fields: { tool } });
    }
    for (const { entry, why } of faults.first) {
      report("tools:bad-entry", "an entry of the server's tool list is not a tool and is hidden", {
        fields: { entry, why, of: faults.count },
      });
    }
    for (const pattern of unmatched) report("tools:unmatched", "pattern matches no tool", { fields: { pattern } });
  };
}
