import { setTimeout as delay } from "node:timers/promises";
import { buildChain } from "../../src/rules/chain/build.ts";
import type { Chain } from "../../src/rules/chain/chain.ts";
import type { Interceptor } from "../../src/rules/interceptors/interceptor.ts";
import type { ChainServices, HookReply } from "../../src/rules/chain/services.ts";
import type { ActionOf } from "../../src/rules/rule.ts";
import type { Step } from "../../src/rules/chain/step.ts";
import { createHoldBook, type HoldBook } from "../../src/store/holds.ts";
import { type ChainState, createMemoryState } from "../../src/store/state.ts";
import { createLateState, createWire, type Wire } from "./late-store.ts";
import { composeMistakes } from "../../src/config/compose-mistakes.ts";
import { readPolicy } from "../../src/config/read-policy.ts";
import { loadCel } from "../../src/rules/cel.ts";
import { loadPatterns } from "../../src/rules/patterns.ts";
import type { PolicySettings, ToolSettings } from "../../src/config/settings.ts";
import { createToolFilter } from "../../src/policy/tool-filter.ts";
import { OPEN, stage, type StageOptions } from "./play.ts";

/** What the chain did beside deciding. */
export interface SideEffects {
  readonly said: string[];
  readonly counted: string[];
  readonly metrics: [string, number][];
  readonly told: string[];
  readonly forked: string[];
  readonly slept: number[];
}

/** How a chain for tests is made. */
export interface RuleOptions extends StageOptions {
  readonly observe?: boolean;
  readonly state?: ChainState;
  /** What webhooks and scripts say. */
  readonly hook?: (
    action: ActionOf<"webhook"> | ActionOf<"run_script">,
    body: string,
  ) => HookReply | Promise<HookReply>;
  readonly folder?: string;
  readonly own?: readonly Interceptor[];
  readonly steps?: readonly Step[];
  readonly holds?: HoldBook;
  /** The name of the chain, where it is to walk beside another one. */
  readonly name?: string;
  /** What the chain has in place of services that write down what they are asked to do. */
  readonly services?: (recorded: ChainServices) => ChainServices;
  readonly server?: string;
  readonly env?: Readonly<Record<string, string>>;
}

let wire: Wire | null = null;

/** From now on what rules remember is elsewhere, in all tests of this file: the store answers later. */
export function rememberElsewhere(random: () => number): void {
  wire = createWire({ random, ordered: true });
}

/** Whether the store answers later, and messages may be done with before what they would have waited for has begun. */
export function remembersElsewhere(): boolean {
  return wire !== null;
}

function makeState(now: () => number): ChainState {
  return wire === null ? createMemoryState({ now }) : createLateState(wire, now);
}

/** Waits until nothing is asked of the store any more, and what waited for it has gone on. */
async function untilQuiet(asked = -1): Promise<void> {
  if (wire === null || (wire.open === 0 && wire.asked === asked)) return;
  const before = wire.asked;
  await delay(0);
  await delay(0);
  return untilQuiet(before);
}

/** The chain that the rules of a policy file make, and what it does. `clock` is its time. */
async function makeChain(
  text: string,
  options: RuleOptions,
  clock: () => number,
): Promise<{ chain: Chain | null; effects: SideEffects; state: ChainState; tools: ToolSettings }> {
  const policy = await readSettings(text, options.env);
  const effects: SideEffects = { said: [], counted: [], metrics: [], told: [], forked: [], slept: [] };
  const holds = options.holds ?? createHoldBook({ now: clock });
  const services: ChainServices = {
    report: (level, rule, said) => void effects.said.push(`${level} ${rule} ${said}`),
    count: (name, labels) => void effects.counted.push([name, ...Object.values(labels)].join(" ")),
    metric: (name, value) => void effects.metrics.push([name, value]),
    tell: (_, body) => void effects.told.push(body.toString()),
    ask: async (action, body) => (await options.hook?.(action, body.toString())) ?? { failure: "nobody there" },
    fork(_, rule, __, message) {
      effects.forked.push(`${rule.id} ${message.bytes.toString("utf8", message.start, message.end)}`);
      return { answered: ({ bytes, start, end }) => void effects.forked.push(bytes.toString("utf8", start, end)) };
    },
    hold: holds.hold,
    async sleep(milliseconds, signal) {
      effects.slept.push(milliseconds);
      await delay(milliseconds, undefined, { signal });
    },
    now: clock,
  };
  const state = options.state ?? makeState(clock);
  const chain = await buildChain(policy.interceptor, {
    folder: options.folder ?? "/nowhere",
    observe: options.observe ?? false,
    server: options.server ?? "test",
    state,
    services: options.services?.(services) ?? services,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.own === undefined ? {} : { own: options.own }),
    ...(options.steps === undefined ? {} : { steps: options.steps }),
  });
  return { chain, effects, state, tools: policy.tools };
}

/** What a policy file with this text says. */
export async function readSettings(text: string, env: Readonly<Record<string, string>> = {}): Promise<PolicySettings> {
  const engines = { pattern: await loadPatterns(), cel: await loadCel(["matches"]) };
  const { policy, mistakes } = readPolicy(text, { file: "fairlead.yaml", env, engines });
  if (policy === null) throw new Error(composeMistakes(mistakes, "text"));
  return policy;
}

/** The rules and the tool filter of a policy file in the middle of a conversation that a test speaks for. */
export async function stageRules(rules: string, options: RuleOptions = {}) {
  let clock = 1000;
  const made = await makeChain(rules, options, () => clock);
  const { deny, allow } = made.tools;
  const policy = deny.length + allow.length === 0 ? OPEN : { tools: createToolFilter({ deny, allow }) };
  // Where the store answers later, every message waits for it.
  const room = wire === null ? {} : { maxParkedBytes: 64 * 1024 * 1024 };
  const played = stage(policy, { ...room, ...options, chain: made.chain });
  return {
    ...played,
    ...made,
    async client(...pieces: (string | Buffer)[]): Promise<void> {
      await played.client(...pieces);
      await untilQuiet();
    },
    async server(...pieces: (string | Buffer)[]): Promise<void> {
      await played.server(...pieces);
      await untilQuiet();
    },
    wait(milliseconds: number): void {
      clock += milliseconds;
      played.wait(milliseconds);
    },
  };
}

/** A policy with these rules: the text of a list. */
export function rules(text: string, chain = ""): string {
  const body = text.replaceAll(/^/gm, "    ");
  return `interceptor:\n${chain === "" ? "" : `  chain: ${chain}\n`}  rules:\n${body}\n`;
}

/** A request, a notification or an answer, on a line. */
export function line(value: object): string {
  return `${JSON.stringify({ jsonrpc: "2.0", ...value })}\n`;
}

/** A call of a tool. */
export function call(id: number | string, name: string, args: object = {}, more: object = {}): string {
  return line({ id, method: "tools/call", params: { name, arguments: args, ...more } });
}

/** An answer. */
export function result(id: number | string, value: unknown): string {
  return line({ id, result: value });
}
