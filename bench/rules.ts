// What rules cost per message, next to JSON.parse of the same message: node scripts/run.mjs bench/rules.ts [rounds]
import { openMessage, whole } from "../src/message/message.ts";
import { compileRules } from "../src/policy/rules/compiled-rule.ts";
import { loadCel } from "../src/policy/rules/cel.ts";
import { isPattern, loadPatterns } from "../src/policy/rules/patterns.ts";
import type { Condition, Field, Rule, RulePattern } from "../src/policy/rules/rule.ts";
import { askCandidate, createRuleIndex } from "../src/policy/rules/rule-index.ts";
import { beginLook, type RuleView } from "../src/policy/rules/view.ts";
import { createRandom, estimate, median, shuffled } from "./statistics.ts";
import { composeText } from "./table.ts";

const compilePattern = await loadPatterns();
const expression = 'params.arguments.limit > 100 && params.arguments.path.startsWith("/etc")';
const compileCel = await loadCel([expression]);

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
const SEEN = seen();

function seen(): RuleView {
  const { bytes, envelope } = openMessage(whole(MESSAGE), "up", "refuse");
  if (envelope.kind !== "request" || envelope.params === null) throw new Error("no request");
  return {
    kind: "request",
    direction: "up",
    method: envelope.method.name,
    params: { bytes, start: envelope.params.start, end: envelope.params.end },
    result: null,
    error: null,
    tool: "read_file",
    client: "bench",
    identity: null,
    session: { id: "s", ageMs: () => 1000, calls: () => 3, state: new Map() },
  };
}

function field(...steps: (string | number)[]): Field {
  return { text: steps.join("."), steps };
}

function pattern(source: string): RulePattern {
  const made = compilePattern(source);
  if (!isPattern(made)) throw new Error(made.problem);
  return made;
}

function rule(...conditions: Condition[]): Rule {
  return {
    id: "r",
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

/** Rules that apply to the message and look into it, each in one of the ways people write them. */
function applying(count: number): Rule[] {
  const ways: ((nth: number) => Condition)[] = [
    (nth) => ({ is: "param_equals", field: field("arguments", "path"), value: `/x/${nth}` }),
    (nth) => ({ is: "param_greater_than", field: field("arguments", "limit"), value: 100 + nth }),
    (nth) => ({ is: "param_in", field: field("arguments", "encoding"), values: ["latin1", `e${nth}`] }),
    (nth) => ({ is: "param_matches", field: field("arguments", "path"), pattern: pattern(`^/secret${nth}/`) }),
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

function judging(rules: readonly Rule[]): () => void {
  const index = createRuleIndex(
    compileRules(rules, (text) => {
      const made = compileCel(text);
      if ("problem" in made) throw new Error(made.problem);
      return made;
    }),
  );
  return () => {
    const look = beginLook(SEEN);
    for (const one of index.find({ moment: "said", direction: "up", method: "tools/call", tool: "read_file" })) {
      if (askCandidate(one, look) !== "no") throw new Error("matched");
    }
  };
}

const works: { readonly name: string; readonly work: () => void }[] = [
  { name: "JSON.parse", work: () => void JSON.parse(MESSAGE.toString("utf8")) },
  { name: "no rule", work: judging([]) },
  { name: "1,000 rules, none applies", work: judging(others(1000, "methods")) },
  { name: "10 rules apply", work: judging(applying(10)) },
  { name: "10 of 1,000 apply (methods)", work: judging([...others(990, "methods"), ...applying(10)]) },
  { name: "10 of 1,000 apply (tools)", work: judging([...others(990, "tools"), ...applying(10)]) },
  { name: "100 rules apply", work: judging(applying(100)) },
  { name: "1,000 rules apply", work: judging(applying(1000)) },
  { name: "one expression", work: judging([rule(CALL, { is: "cel", expression })]) },
];

/** Nanoseconds of processor time for one piece of work: others may use the machine too. */
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

const rounds = Number(process.argv[2] ?? 15);
const times = works.map((): number[] => []);
const random = createRandom(1);
for (const { work } of works) for (let warm = 0; warm < 5; warm++) time(work);
for (let round = 0; round < rounds; round++) {
  for (const nth of shuffled([...works.keys()], random)) times[nth].push(time(works[nth].work));
}
const against = (nth: number, base: number): string => {
  const ratio = estimate(times[nth].map((value, round) => value / times[base][round]));
  return `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)} … ${ratio.high.toFixed(2)})`;
};
const ten = works.findIndex(({ name }) => name === "10 rules apply");
process.stdout.write(
  `${composeText([
    ["work", "median", "best", "÷ JSON.parse", "÷ 10 rules"],
    ...works.map(({ name }, nth) => [
      name,
      `${median(times[nth]).toFixed(0)} ns`,
      `${Math.min(...times[nth]).toFixed(0)} ns`,
      against(nth, 0),
      against(nth, ten),
    ]),
  ])}\n`,
);
