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

/** The rule engine of a proxy. */
export interface Engine {
  /** Takes up another policy, whole or not at all. Says whether clients may see other tools by it. */
  adopt(policy: PolicySettings): Promise<{ readonly changesTools: boolean }>;
  /** The messages that wait for a person. */
  readonly holds: HoldBook;
  /** What is counted of the sessions that are remembered. */
  sessions(): SessionStatistics[];
  /** Ends all that it has begun, with a moment for what is on its way. */
  close(): Promise<void>;
  /** Ends it now. */
  destroy(): void;
}

/** What an engine is made of. */
export interface EngineOptions {
  readonly hub: Hub;
  readonly log: Log;
  readonly policy: PolicySettings;
  /** Where the policy file is. */
  readonly folder: string;
  readonly observe: boolean;
  /** What a program says of how answers are checked, which takes the place of what the policy says. */
  readonly validate: "lists" | "results" | undefined;
  /** Which server this is: its URL, or its command. */
  readonly server: string;
  readonly version: string;
  readonly interceptors: readonly Interceptor[];
}

/** Starts an engine, and has the hub judge by it. Rejects with a ProxyError where a policy cannot be followed. */
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
      // Lists in there are as the filter of before left them.
      state.answers.clear();
      // Limits of rules that the policy does not have any more are forgotten; those of rules that stay count on.
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

/** What holds where there is no policy file. */
export const NO_POLICY: PolicySettings = POLICY.defaults;

function webhooksOf({ interceptor }: PolicySettings): ActionOf<"webhook">[] {
  return interceptor.rules.flatMap(({ actions }) => actions.filter((action) => action.does === "webhook"));
}

/** What decides which tools a client sees. Rules may hide some, too. */
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
