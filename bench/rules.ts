import { parseArgs } from "node:util";
import { buildChain } from "../src/rules/chain/build.ts";
import type { Chain } from "../src/rules/chain/chain.ts";
import type { ChainServices } from "../src/rules/chain/services.ts";
import { createMemoryState } from "../src/store/state.ts";
import { openMessage, type Payload, whole } from "../src/message/message.ts";
import { POLICY } from "../src/config/schema.ts";
import { type CompilePattern, isPattern, loadPatterns } from "../src/rules/patterns.ts";
import type { Condition, Rule, RuleAction, RulePattern } from "../src/rules/rule.ts";
import type { Field } from "../src/message/field.ts";
import { createWitness } from "../src/record/witness.ts";
import { createLearner } from "../src/relay/learn.ts";
import { createPassage } from "../src/relay/passage.ts";
import { LINES } from "../src/session/exchange.ts";
import { createSession } from "../src/session/session.ts";
import { writePage } from "./page.ts";
import { timeRelay } from "./rules-relay.ts";
import { createRandom, estimate, median, shuffled } from "./statistics.ts";
import { composeMarkdown, composeText } from "./table.ts";

const EXPRESSION = 'params.arguments.limit > 100 && params.arguments.path.startsWith("/etc")';

const MESSAGE = Buffer.from(
  JSON.stringify({
    jsonrpc: "2.0",
    id: 7,
    method: "tools/call",
    params: {
      name: "read_file",
      arguments: { path: "/workspace/src/main.ts", encoding: "utf8", limit: 50, lines: [1, 200] },
      _meta: { progressToken: 7 },
    },
  }),
);
function field(...steps: (string | number)[]): Field {
  return { text: steps.join("."), steps };
}

function pattern(source: string, compile: CompilePattern): RulePattern {
  const made = compile(source);
  if (!isPattern(made)) throw new Error(made.problem);
  return made;
}

let ids = 0;

function rule(...conditions: Condition[]): Rule {
  return {
    id: `r${++ids}`,
    name: "r",
    mode: "on",
    priority: 0,
    direction: null,
    conditions,
    actions: [{ does: "allow" }],
    metadata: {},
    place: { line: 1, column: 1 },
  };
}

const CALL: Condition = { is: "method_equals", text: "tools/call" };

/** Rules that match the message's method and look into it, each in one of the usual ways. */
function applying(count: number, compile: CompilePattern): Rule[] {
  const ways: ((nth: number) => Condition)[] = [
    (nth) => ({ is: "param_equals", field: field("arguments", "path"), value: `/x/${nth}` }),
    (nth) => ({ is: "param_greater_than", field: field("arguments", "limit"), value: 100 + nth }),
    (nth) => ({ is: "param_in", field: field("arguments", "encoding"), values: ["latin1", `e${nth}`] }),
    (nth) => ({ is: "param_matches", field: field("arguments", "path"), pattern: pattern(`^/secret${nth}/`, compile) }),
    () => ({ is: "param_within", field: field("arguments", "path"), paths: ["/etc", "/root"] }),
  ];
  return Array.from({ length: count }, (_, nth) => rule(CALL, ways[nth % ways.length](nth)));
}

/** Rules for other methods, and for other tools. */
function others(count: number, what: "methods" | "tools"): Rule[] {
  return Array.from({ length: count }, (_, nth) =>
    what === "methods"
      ? rule({ is: "method_equals", text: `other/${nth}` })
      : rule(CALL, { is: "param_in", field: field("name"), values: [`tool_${nth}`] }),
  );
}

const services: ChainServices = {
  report: fail,
  count: () => {},
  metric: () => {},
  tell: () => {},
  ask: () => Promise.reject(new Error("nobody is asked here")),
  fork: () => null,
  hold: () => Promise.reject(new Error("nothing is held here")),
  sleep: () => Promise.resolve(),
  now,
};

function now(): number {
  return performance.now();
}

function fail(...what: unknown[]): void {
  throw new Error(what.map(String).join(" "));
}

function chainOf(rules: readonly Rule[]): Promise<Chain | null> {
  const state = createMemoryState({ now });
  const { interceptor } = POLICY.defaults;
  return buildChain({ ...interceptor, rules }, { folder: "/", observe: false, server: "bench", state, services });
}

function conversation() {
  return createSession({ maxOpenCalls: 1000, learnsTools: () => false, say: () => {}, now });
}

/** Only the evaluation of the chain for the message. */
async function judging(rules: readonly Rule[]): Promise<() => void> {
  const chain = await chainOf(rules);
  const turn = conversation().observe(openMessage(whole(MESSAGE), "up", "refuse"), LINES);
  return () => {
    const decision = chain?.walk(turn);
    if (decision !== undefined && (!("verdict" in decision) || decision.verdict.do !== "pass")) fail("matched");
  };
}

/** Everything that is done with a message between its framing and its link. */
async function passing(payload: Payload, rules: readonly Rule[]): Promise<() => void> {
  const session = conversation();
  const witness = createWitness({
    reporter: { report: fail, end: () => {} },
    audit: null,
    auditAll: false,
    time: Date.now,
    now,
  });
  const passage = createPassage({
    session,
    rulebook: { current: { policy: { tools: null }, chain: await chainOf(rules), observe: false } },
    learner: createLearner({ session, timeoutMs: 1000 }),
    witness,
    maxParkedBytes: 1_000_000,
  });
  return () => {
    const outcome = passage.pass(payload, "up", LINES);
    if (outcome instanceof Promise || outcome.onward === "nothing") return fail("it does not pass");
    for (const call of session.calls.up.waiting()) session.calls.up.close(call);
  };
}

const ROWS = Array.from({ length: 9000 }, (_, nth) => ({ nth, name: `row ${nth}`, text: "x".repeat(80) }));

const LARGE = whole(
  Buffer.from(
    JSON.stringify({
      jsonrpc: "2.0",
      id: 7,
      method: "tools/call",
      params: {
        name: "write_rows",
        arguments: { rows: ROWS },
      },
    }),
  ),
);

const EDIT: RuleAction = { does: "set_param", field: field("arguments", "dry_run"), value: true };

interface Work {
  readonly name: string;
  readonly work: () => void;
  /** What it is compared with, and the maximum ratio. */
  readonly against: string;
  readonly target: number | null;
}

function one(name: string, work: () => void, against = "JSON.parse", target: number | null = null): Work {
  return { name, work, against, target };
}

async function composeWorks(): Promise<Work[]> {
  const compile = await loadPatterns();
  const ten = applying(10, compile);
  const others10 = (what: "methods" | "tools"): Rule[] => [...others(990, what), ...ten];
  return [
    one("JSON.parse", () => void JSON.parse(MESSAGE.toString("utf8"))),
    one("no rule", await judging([])),
    one("1,000 rules, none applies", await judging(others(1000, "methods"))),
    one("10 rules apply", await judging(ten)),
    one("10 of 1,000 rules apply, by method", await judging(others10("methods")), "10 rules apply", 1.5),
    one("10 of 1,000 rules apply, by tool", await judging(others10("tools")), "10 rules apply", 1.5),
    one("100 rules apply", await judging(applying(100, compile)), "JSON.parse", 3),
    one("1,000 rules apply", await judging(applying(1000, compile))),
    one("one expression", await judging([rule(CALL, { is: "cel", expression: EXPRESSION })])),
    one("a call passes, without a policy", await passing(whole(MESSAGE), [])),
    one("a call passes 10 rules that apply", await passing(whole(MESSAGE), ten), "a call passes, without a policy"),
    one("1 MB passes, without a policy", await passing(LARGE, []), "1 MB passes, without a policy"),
    one(
      "1 MB passes 1,000 rules about others",
      await passing(LARGE, others(1000, "methods")),
      "1 MB passes, without a policy",
    ),
    one(
      "1 MB is changed by a rule",
      await passing(LARGE, [{ ...rule(CALL), actions: [EDIT] }]),
      "1 MB passes, without a policy",
    ),
  ];
}

/** Nanoseconds of processor time for one call of `work`, because other processes may use the machine too. */
function time(work: () => void): number {
  let count = 1;
  for (;;) {
    const began = process.cpuUsage();
    for (let nth = 0; nth < count; nth++) work();
    const { user, system } = process.cpuUsage(began);
    const taken = (user + system) / 1000;
    if (taken >= LEAST_MS) return (taken * 1e6) / count;
    count = Math.ceil(count * Math.min(100, Math.max(2, (1.2 * LEAST_MS) / Math.max(taken, 0.001))));
  }
}

const LEAST_MS = 40;

/** Measures with real processes, so that the rest of a relay counts too. */
async function measureRelay(place: Place, rounds: number): Promise<string[][]> {
  const times = { passes: [] as number[], changes: [] as number[] };
  const given = { ...place, args: { rows: ROWS } };
  for (let round = 0; round < rounds; round++) {
    for (const how of ["passes", "changes"] as const) times[how].push(await timeRelay(how, given));
  }
  const ratio = estimate(times.changes.map((value, round) => value / times.passes[round]));
  const against = "a relay passes 1 MB";
  const compared = `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)} … ${ratio.high.toFixed(2)}) × ${against}`;
  return [
    [against, "", showTime(median(times.passes)), "", ""],
    ["a relay passes 1 MB, changed by a rule", "≤ 2 ×", showTime(median(times.changes)), compared, judge(ratio, 2)],
  ];
}

interface Place {
  readonly command: string;
  readonly folder: string;
}

/**
 * Measures the cost of rules per message, compared with JSON.parse of the same message and with a relay without rules.
 */
export async function main({
  args,
  root,
  ...place
}: Place & {
  readonly args: readonly string[];
  readonly root: string;
}): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: "string", default: "15" }, write: { type: "boolean", default: false } },
  });
  const works = await composeWorks();
  const times = works.map((): number[] => []);
  const random = createRandom(1);
  for (const { work } of works) for (let warm = 0; warm < 5; warm++) time(work);
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const nth of shuffled([...works.keys()], random)) times[nth].push(time(works[nth].work));
  }
  const rows = works.map(({ name, against, target }, nth) => {
    const base = times[works.findIndex((other) => other.name === against)];
    const ratio = estimate(times[nth].map((value, round) => value / base[round]));
    const compared = `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)} … ${ratio.high.toFixed(2)}) × ${against}`;
    const isSame = name === against;
    return [
      name,
      target === null ? "" : `≤ ${target} ×`,
      showTime(median(times[nth])),
      isSame ? "" : compared,
      target === null ? "" : judge(ratio, target),
    ];
  });
  const relayed = await measureRelay(place, Number(values.rounds));
  const table = [["work", "target", "median", "compared (95 % interval)", "verdict"], ...rows, ...relayed];
  process.stdout.write(`${composeText(table)}\n`);
  if (values.write) writePage(root, "bench:rules", composeMarkdown(table));
  return 0;
}

function judge({ low, high }: { readonly low: number; readonly high: number }, target: number): string {
  if (high <= target) return "pass";
  return low > target ? "miss" : "close";
}

function showTime(nanoseconds: number): string {
  return nanoseconds < 10_000 ? `${nanoseconds.toFixed(0)} ns` : `${(nanoseconds / 1000).toFixed(0)} µs`;
}
