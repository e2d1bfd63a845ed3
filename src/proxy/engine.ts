import { buildChain } from "../rules/chain/build.ts";
import type { Chain } from "../rules/chain/chain.ts";
import type { Interceptor } from "../rules/interceptors/interceptor.ts";
import { hidesElements } from "../rules/action-traits.ts";
import type { ActionOf } from "../rules/rule.ts";
import { createMemoryState } from "../store/state.ts";
import { ProxyError } from "../errors.ts";
import { POLICY } from "../config/schema.ts";
import type { PolicySettings } from "../config/settings.ts";
import { countsOf } from "../store/sessions.ts";
import type { HoldBook } from "../store/holds.ts";
import type { Log } from "../record/log/log.ts";
import { createWorld } from "./chain-services.ts";
import { createFork } from "./fork.ts";
import { type Hub, loadResultJudge, namesIn } from "./hub.ts";
import type { SessionStatistics } from "./model.ts";
import { stampPolicy } from "./policy-stamp.ts";

// Loaded with the engine, which needs most of it anyway.
export { nameServer } from "./server-name.ts";

/** The rule engine of a proxy. */
export interface Engine {
  /** Replaces the policy, completely or not at all. Returns whether clients may see other tools now. */
  adopt(policy: PolicySettings): Promise<{ readonly changesTools: boolean }>;
  /** The messages that are held for a person's decision. */
  readonly holds: HoldBook;
  /** The counts of the sessions that are remembered. */
  sessions(): SessionStatistics[];
  /** Ends everything that it started, with a moment for requests in progress. */
  close(): Promise<void>;
  /** Ends it without waiting. */
  destroy(): void;
}

/** Options of an engine. */
export interface EngineOptions {
  readonly hub: Hub;
  readonly log: Log;
  readonly policy: PolicySettings;
  /** The folder of the policy file. */
  readonly folder: string;
  readonly observe: boolean;
  /** How responses are checked, if a program sets that. It overrides the policy. */
  readonly validate: "lists" | "results" | undefined;
  /** The server: its URL or its command. */
  readonly server: string;
  readonly version: string;
  readonly interceptors: readonly Interceptor[];
}

/** Starts an engine, and makes the hub use it. Rejects with a ProxyError if a policy cannot be used. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { hub, log, folder, observe, server, version, interceptors } = options;
  const { reporter, witness, rulebook, makePolicy } = hub;
  const { now } = hub.seats;
  const { ttlMs, maxSessions, maxConversations } = options.policy.state;
  const state = createMemoryState({ ttlMs, maxSessions, maxConversations, now });
  const fork = createFork({ reporter, witness, version });
  const world = createWorld({ log, reporter, witness, folder, fork, now });
  const { services } = world;

  async function build(policy: PolicySettings): Promise<Chain | null> {
    try {
      world.prepare(webhooksOf(policy));
      const own = { own: interceptors };
      return await buildChain(policy.interceptor, { folder, observe, server, state, services, ...own });
    } catch (cause) {
      if (cause instanceof ProxyError) throw cause;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new ProxyError("BAD_POLICY", `The policy cannot be applied: ${why}`, "Nothing was started", { cause });
    }
  }

  let signature = signatureOf(options.policy);
  let ruleIds: ReadonlySet<string> = new Set(options.policy.interceptor.rules.map(({ id }) => id));
  const chain = await build(options.policy);
  rulebook.current = { ...rulebook.current, chain, observe };

  return {
    holds: world.holds,
    async adopt(policy) {
      const names = namesIn(policy);
      const stamp = stampPolicy({ ...policy.tools, names, interceptor: policy.interceptor, observe });
      const chain = await build(policy);
      const results = await loadResultJudge(options.validate ?? policy.validate, reporter);
      rulebook.current = { policy: makePolicy(policy.tools, names, results), chain, observe, stamp };
      witness.changedPolicy(stamp);
      // Cached lists were made by the previous filter.
      state.answers.clear();
      // Limits of removed rules are forgotten; those of rules that stay keep their counts.
      const ids = new Set(policy.interceptor.rules.map(({ id }) => id));
      state.limits.forgetRules([...ruleIds].filter((id) => !ids.has(id)));
      ruleIds = ids;
      const before = signature;
      signature = signatureOf(policy);
      return { changesTools: before !== signature };
    },
    sessions: () =>
      state.sessions.all().map((session) => ({
        id: session.id,
        ageMs: session.ageMs(),
        messageCount: session.messages,
        calls: session.calls(null),
        methodStats: countsOf(session.methods),
      })),
    async close() {
      fork.close();
      await world.close();
    },
    destroy() {
      fork.close();
      world.destroy();
    },
  };
}

/** The policy that applies without a policy file. */
export const NO_POLICY: PolicySettings = POLICY.defaults;

function webhooksOf({ interceptor }: PolicySettings): ActionOf<"webhook">[] {
  return interceptor.rules.flatMap(({ actions }) => actions.filter((action) => action.does === "webhook"));
}

/** Everything that decides which tools a client sees. Rules may hide tools too. */
function signatureOf({ tools, interceptor }: PolicySettings): string {
  const { deny, allow, ...manners } = tools;
  const hiding = interceptor.rules.filter(hidesElements);
  return JSON.stringify([
    deny.map(({ source }) => source),
    allow.map(({ source }) => source),
    manners,
    interceptor.enabled ? hiding.map(({ id, mode, conditions }) => [id, mode, showConditions(conditions)]) : [],
  ]);
}

function showConditions(conditions: readonly unknown[]): string {
  return JSON.stringify(conditions, (_, value: unknown) => {
    if (value instanceof Set) return [...value] as unknown[];
    return typeof value === "bigint" ? String(value) : value;
  });
}
