import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CelTest, loadCel, MAX_CEL_BYTES } from "../../src/rules/cel.ts";
import { type CelValue, readCelValue } from "../../src/rules/cel-values.ts";
import { askRule, compileRules, expressionsIn } from "../../src/rules/compiled-rule.ts";
import type { RuleView } from "../../src/rules/view.ts";
import { lookAt, part, rule } from "./support.ts";

async function compile(expression: string): Promise<CelTest> {
  const made = (await loadCel([expression]))(expression);
  if ("problem" in made) throw new Error(made.problem);
  return made;
}

async function ask(expression: string, changes: Partial<RuleView> = {}): Promise<string> {
  const made = await compile(expression);
  return askRule(compileRules([rule([{ is: "cel", expression }])], () => made)[0], lookAt(changes));
}

const PARAMS = {
  params: part(
    '{"name":"pay","arguments":{"amount":9007199254740993,"rate":1.5,"to":["a","bb"],"none":null,"__proto__":5,"constructor":6}}',
  ),
};

test.each<[string, string, Partial<RuleView>]>([
  ['method == "tools/call" && params.name == "pay"', "yes", PARAMS],
  ["params.arguments.amount == 9007199254740993", "yes", PARAMS],
  ["params.arguments.amount == 9007199254740992", "no", PARAMS],
  ["params.arguments.rate > 1 && params.arguments.rate < 1.6", "yes", PARAMS],
  ["params.arguments.to.all(x, size(x) < 3)", "yes", PARAMS],
  ['params.arguments.to.exists(x, x.matches("^b+$"))', "yes", PARAMS],
  ["params.arguments.none == null", "yes", PARAMS],
  ['params.arguments["__proto__"] == 5 && params.arguments.constructor == 6', "yes", PARAMS],
  ["has(params.toString)", "no", PARAMS],
  ['params == {"name": "x", "n": 1}', "yes", { params: part({ n: 1, name: "x" }) }],
  ['"name" in params && !("Name" in params)', "yes", PARAMS],
  ['params.exists(key, key == "arguments")', "yes", PARAMS],
  ["size(params) == 2", "yes", PARAMS],
  ["has(params.arguments.missing) && params.arguments.missing > 1", "no", PARAMS],
  ["params.?arguments.?missing.orValue(7) == 7", "yes", PARAMS],
  ["params.arguments.missing > 1", "unsure", PARAMS],
  ["params.name", "unsure", PARAMS],
  ["params == null", "yes", { params: null }],
  ["params == null", "unsure", { params: undefined }],
  ['session.id == "s1" && session.age_ms >= 5000 && session.calls == 3', "yes", {}],
  [
    'session.state.mood == "odd"',
    "yes",
    {
      session: {
        id: "s",
        ageMs: () => 1,
        messages: 0,
        methods: new Map(),
        calls: () => 0,
        state: new Map([["mood", "odd"]]),
      },
    },
  ],
  ['session.message_count == 7 && session.mcp_session_id == "mcp-1"', "yes", {}],
  ['session.method_stats["tools/call"].requests == 4', "yes", {}],
  ['session.method_stats["tools/call"].errors * 4 >= session.method_stats["tools/call"].requests', "yes", {}],
  ['session.method_stats["tools/call"].answered_in_ms == 30', "yes", {}],
  ['"ping" in session.method_stats', "no", {}],
  ['client.name == "Tester" && client.identity == null', "yes", {}],
  ["result.isError", "yes", { kind: "result", result: part({ isError: true }) }],
  ["error.code == -32601", "yes", { kind: "error", error: part({ code: -32601, message: "" }) }],
  ['method.startsWith("tools/")', "yes", {}],
])("%s: %s", async (expression, answer, changes) => {
  expect(await ask(expression, changes)).toBe(answer);
});

test.each([
  ["1 +", "Unexpected token"],
  ["nope == 1", "Unknown variable: nope"],
  ["1 + 1", "must be true or false, not"],
  ['"a".matches(params.name)', "needs a pattern that is written out"],
  ['"a".matches("(?=a)")', "lookahead"],
  [`${"(".repeat(200)}true${")".repeat(200)}`, "depth"],
  [Array.from({ length: 600 }, () => "true").join(" && "), "nodes"],
])("%s is refused: %s", async (expression, problem) => {
  expect((await loadCel([expression]))(expression)).toMatchObject({
    problem: expect.stringMatching(new RegExp(problem, "i")),
  });
});

test("what an expression mentions decides when it is judged", async () => {
  expect((await compile("has(result.x) || method == 'a'")).uses).toEqual(new Set(["method", "result"]));
  for (const [expression, moment] of [
    ["has(result.x)", "answered"],
    ["error.code == 1", "answered"],
    ["params.a == 1", "said"],
  ]) {
    const made = await compile(expression);
    const [one] = compileRules([rule([{ is: "cel", expression }])], () => made);
    expect(one).toMatchObject({ moment, looksIntoParams: expression.includes("params") });
  }
});

test("the expressions of rules are found wherever they stand", () => {
  const one = { is: "cel", expression: "a" } as const;
  const rules = [rule([{ is: "any", conditions: [{ is: "not", condition: one }] }]), rule([]), rule([one])];
  expect(expressionsIn(rules)).toEqual(["a", "a"]);
});

test("an expression that goes through a long list again and again is stopped", async () => {
  const expression = "params.list.all(a, params.list.all(b, params.list.all(c, a + b + c >= 0)))";
  const list = Array.from({ length: 3000 }, (_, nth) => nth);
  const made = await compile(expression);
  const rules = compileRules([rule([{ is: "cel", expression }])], () => made);
  const looks = [1, 2].map(() => lookAt({ params: part({ list }) }));
  expect(looks.map((look) => askRule(rules[0], look))).toEqual(["unsure", "unsure"]);
  // By what was done and not by the time that took: it ends at the same place each time.
  expect(looks[0].work.steps).toBe(looks[1].work.steps);
  expect(looks[0].doubt?.told).toContain("steps of work");
  expect(await ask(expression, { params: part({ list: [1, 2] }) })).toBe("yes");
});

test("what is too large is not made into values", async () => {
  expect(await ask('params.t != ""', { params: part({ t: "a".repeat(MAX_CEL_BYTES) }) })).toBe("unsure");
});

test("what expressions see is what JSON.parse reads, but integers are whole", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.boolean(), (value, isWide) => {
      const { value: seen, widest } = readCelValue(part(JSON.stringify(value, null, isWide ? " " : undefined)));
      expect(plain(seen)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(widest).toBe(widestOf(value));
    }),
  );
  expect(readCelValue(part("[9223372036854775807,9223372036854775808,-9223372036854775808,1.0,1e3,-0]")).value).toEqual(
    [9223372036854775807n, 9223372036854775808, -9223372036854775808n, 1, 1000, 0n],
  );
});

function plain(value: CelValue): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof Map ? Object.fromEntries([...value].map(([key, one]) => [key, plain(one)])) : value;
}

function widestOf(value: unknown): number {
  if (value === null || typeof value !== "object") return 0;
  const inside: unknown[] = Object.values(value);
  return Math.max(inside.length, ...inside.map(widestOf));
}

test("why an expression says nothing is told in one line", async () => {
  const expression = "result.content.size() > 3";
  const made = await compile(expression);
  const look = lookAt({ kind: "result", result: part({}) });
  askRule(compileRules([rule([{ is: "cel", expression }])], () => made)[0], look);
  expect(look.doubt).toEqual({ text: "cel: No such key: content", told: null });
});
