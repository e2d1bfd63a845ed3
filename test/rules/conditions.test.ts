import * as fc from "fast-check";
import { expect, test } from "vitest";
import { askRule, compileRules, explainRule } from "../../src/rules/compiled-rule.ts";
import type { Answer } from "../../src/rules/conditions.ts";
import { MAX_MATCHED_CHARACTERS } from "../../src/rules/patterns.ts";
import type { Condition } from "../../src/rules/rule.ts";
import type { Json } from "../../src/message/json.ts";
import type { RuleView } from "../../src/rules/view.ts";
import { MAX_WORK_PER_MESSAGE } from "../../src/rules/work.ts";
import { compiled, field, lookAt, part, pattern, rule } from "./support.ts";
import { runs } from "../support/runs.ts";

function ask(condition: Condition, changes: Partial<RuleView> = {}): Answer {
  return askRule(compiled(condition), lookAt(changes));
}

const PARAMS = {
  params: part(
    '{"name":"read_file","arguments":{"path":"/data/a","n":9007199254740993,"list":[1,{"deep":null}],"t":true,"s":"5"}}',
  ),
};
const RESULT = {
  kind: "result",
  direction: "down",
  result: part({ isError: false, content: [{ text: "secret" }] }),
} as const;
const ERROR = { kind: "error", direction: "down", error: part({ code: -32601, message: "Tool not found" }) } as const;

test.each<[Condition, Answer, Partial<RuleView>]>([
  [{ is: "method_equals", text: "tools/call" }, "yes", {}],
  [{ is: "method_equals", text: "tools/list" }, "no", {}],
  [{ is: "method_equals", text: "tools/call" }, "no", { method: null }],
  [{ is: "method_starts_with", text: "tools/" }, "yes", {}],
  [{ is: "method_starts_with", text: "call" }, "no", {}],
  [{ is: "method_ends_with", text: "/call" }, "yes", {}],
  [{ is: "method_ends_with", text: "tools" }, "no", {}],
  [{ is: "method_matches", pattern: pattern("^t.*l$") }, "yes", {}],
  [{ is: "method_in", texts: new Set(["a", "tools/call"]) }, "yes", {}],
  [{ is: "method_in", texts: new Set(["a"]) }, "no", {}],
  [{ is: "param_exists", field: field("arguments", "path") }, "yes", PARAMS],
  [{ is: "param_exists", field: field("arguments", "list", 1, "deep") }, "yes", PARAMS],
  [{ is: "param_exists", field: field("arguments", "none") }, "no", PARAMS],
  [{ is: "param_exists", field: field("name") }, "no", { params: null }],
  [{ is: "param_exists", field: field("name") }, "unsure", { params: undefined }],
  [{ is: "param_is_null", field: field("arguments", "list", 1, "deep") }, "yes", PARAMS],
  [{ is: "param_is_null", field: field("arguments", "none") }, "no", PARAMS],
  [{ is: "param_is_array", field: field("arguments", "list") }, "yes", PARAMS],
  [{ is: "param_is_array", field: field("arguments") }, "no", PARAMS],
  [{ is: "param_equals", field: field("arguments", "n"), value: 9007199254740993n }, "yes", PARAMS],
  [{ is: "param_equals", field: field("arguments", "n"), value: 9007199254740992 }, "no", PARAMS],
  [{ is: "param_in", field: field("name"), values: ["write_file", "read_file"] }, "yes", PARAMS],
  [{ is: "param_in", field: field("name"), values: ["write_file"] }, "no", PARAMS],
  [{ is: "param_matches", field: field("arguments", "path"), pattern: pattern("^/data") }, "yes", PARAMS],
  [{ is: "param_matches", field: field("arguments", "n"), pattern: pattern("9") }, "no", PARAMS],
  [{ is: "param_greater_than", field: field("arguments", "n"), value: 9007199254740992 }, "yes", PARAMS],
  [{ is: "param_greater_than", field: field("arguments", "n"), value: 9007199254740993n }, "no", PARAMS],
  [{ is: "param_less_than", field: field("arguments", "n"), value: 9007199254740994n }, "yes", PARAMS],
  [{ is: "param_less_than", field: field("arguments", "s"), value: 9 }, "no", PARAMS],
  [{ is: "param_within", field: field("arguments", "path"), paths: ["/data"] }, "yes", PARAMS],
  [{ is: "param_within", field: field("arguments", "path"), paths: ["/tmp"] }, "no", PARAMS],
  [{ is: "param_within", field: field("arguments", "n"), paths: ["/"] }, "no", PARAMS],
  [
    { is: "param_within", field: field("p"), paths: ["/data"] },
    "yes",
    { params: part('{"p":["/data/a", "/d\\u0061ta/b"]}') },
  ],
  [
    { is: "param_within", field: field("p"), paths: ["/data"] },
    "no",
    { params: part('{"p":["/data/a","/data/../b"]}') },
  ],
  [{ is: "param_within", field: field("p"), paths: ["/data"] }, "no", { params: part('{"p":["/data/a",7]}') }],
  [
    { is: "param_within", field: field("p"), paths: ["/data"] },
    "no",
    { params: part('{"p":["/data/a",["/data/b"]]}') },
  ],
  [{ is: "param_within", field: field("p"), paths: ["/data"] }, "no", { params: part('{"p":[]}') }],
  [{ is: "result_exists", field: field("content", 0) }, "yes", RESULT],
  [{ is: "result_exists", field: field("content", 0) }, "no", ERROR],
  [{ is: "result_equals", field: field("isError"), value: false }, "yes", RESULT],
  [{ is: "result_matches", field: field("content", 0, "text"), pattern: pattern("sec") }, "yes", RESULT],
  [{ is: "error_code_equals", code: -32601 }, "yes", ERROR],
  [{ is: "error_code_equals", code: -32602 }, "no", ERROR],
  [{ is: "error_code_equals", code: -32601 }, "no", RESULT],
  [{ is: "error_message_contains", text: "not found" }, "yes", ERROR],
  [{ is: "session_id_equals", text: "s1" }, "yes", {}],
  [{ is: "session_id_equals", text: "s" }, "no", {}],
  [{ is: "session_id_equals", text: "3f0c" }, "yes", {}],
  [{ is: "session_id_equals", text: "mcp-1" }, "yes", {}],
  [{ is: "session_age_greater_than", milliseconds: 4999 }, "yes", {}],
  [{ is: "session_age_greater_than", milliseconds: 5000 }, "no", {}],
  [{ is: "calls_so_far", tool: null, greaterThan: 2 }, "yes", {}],
  [{ is: "calls_so_far", tool: "x", greaterThan: 3 }, "no", {}],
  [{ is: "direction", direction: "up" }, "yes", {}],
  [{ is: "direction", direction: "down" }, "no", {}],
  [{ is: "client_matches", pattern: pattern("^Test") }, "yes", {}],
  [{ is: "client_matches", pattern: pattern("") }, "no", { client: null }],
  [{ is: "tool_matches", pattern: pattern("_file$") }, "yes", {}],
  [{ is: "identity_matches", pattern: pattern(".") }, "no", {}],
  [{ is: "identity_matches", pattern: pattern("^me$") }, "yes", { identity: "me" }],
  [{ is: "all", conditions: [] }, "yes", {}],
  [{ is: "any", conditions: [] }, "no", {}],
])("%o: %s", (condition, answer, changes) => {
  expect(ask(condition, changes)).toBe(answer);
  expect(ask({ is: "not", condition }, changes)).toBe(answer === "unsure" ? "unsure" : answer === "yes" ? "no" : "yes");
});

test("the params of a request are at hand when its answer is judged", () => {
  const both = compiled(
    { is: "param_equals", field: field("name"), value: "read_file" },
    { is: "result_matches", field: field("content", 0, "text"), pattern: pattern("secret") },
  );
  expect(askRule(both, lookAt({ ...RESULT, ...PARAMS }))).toBe("yes");
  expect(both.looksIntoParams).toBe(true);
});

const YES: Condition = { is: "direction", direction: "up" };
const NO: Condition = { is: "direction", direction: "down" };
const UNSURE: Condition = {
  is: "param_matches",
  field: field("name"),
  pattern: {
    source: "x+",
    test() {
      throw new Error("broken");
    },
  },
};

test("a clause that cannot be judged decides nothing where another one does", () => {
  expect(ask({ is: "all", conditions: [UNSURE, NO] })).toBe("no");
  expect(ask({ is: "all", conditions: [UNSURE, YES] })).toBe("unsure");
  expect(ask({ is: "any", conditions: [UNSURE, YES] })).toBe("yes");
  expect(ask({ is: "any", conditions: [UNSURE, NO] })).toBe("unsure");
  expect(ask({ is: "not", condition: UNSURE })).toBe("unsure");
});

test("why something cannot be judged is said once", () => {
  const look = lookAt();
  expect(askRule(compiled(UNSURE, { ...UNSURE, is: "result_matches" }), look)).toBe("no");
  expect(look.doubt?.text).toBe("param_matches: broken");
});

test("no more is asked than is needed", () => {
  let asked = 0;
  const counting: Condition = {
    is: "tool_matches",
    pattern: { source: "x+", test: () => ++asked > 0 },
  };
  expect(ask({ is: "all", conditions: [NO, counting] })).toBe("no");
  expect(ask({ is: "any", conditions: [YES, counting] })).toBe("yes");
  expect(asked).toBe(0);
});

test("a text that is too long for a pattern cannot be judged", () => {
  const condition: Condition = { is: "param_matches", field: field("t"), pattern: pattern("a") };
  expect(ask(condition, { params: part({ t: "a".repeat(MAX_MATCHED_CHARACTERS) }) })).toBe("yes");
  expect(ask(condition, { params: part({ t: "a".repeat(MAX_MATCHED_CHARACTERS + 1) }) })).toBe("unsure");
});

test("many patterns on one message run out of work, and not out of time", () => {
  const condition: Condition = {
    is: "param_matches",
    field: field("t"),
    pattern: { ...pattern("b+"), size: 64 } as never,
  };
  const length = MAX_MATCHED_CHARACTERS;
  // One search less than would fit: to look the text up takes some work as well.
  const affordable = Math.floor(MAX_WORK_PER_MESSAGE / (64 * length)) - 1;
  const look = lookAt({ params: part({ t: "a".repeat(length) }) });
  const one = compiled(condition);
  for (let nth = 0; nth < affordable; nth++) expect(askRule(one, look)).toBe("no");
  expect(askRule(one, look)).toBe("unsure");
  expect(look.doubt?.told).toContain("steps of work");
});

test("an explanation has every clause, what it saw and what it made of it", () => {
  const one = compiled(
    { is: "method_equals", text: "tools/list" },
    { is: "any", conditions: [{ is: "param_equals", field: field("arguments", "n"), value: 1 }, UNSURE] },
    { is: "not", condition: { is: "param_exists", field: field("arguments", "none") } },
    { is: "client_matches", pattern: pattern("X") },
  );
  expect(explainRule(one, lookAt(PARAMS))).toMatchObject([
    { answer: "no", saw: "tools/call", doubt: null },
    {
      answer: "unsure",
      saw: null,
      doubt: "param_matches: broken",
      parts: [
        { answer: "no", saw: "9007199254740993" },
        { answer: "unsure", saw: '"read_file"', doubt: "param_matches: broken" },
      ],
    },
    { answer: "yes", parts: [{ answer: "no", saw: "(missing)" }] },
    { answer: "no", saw: "Tester" },
  ]);
});

test("what an explanation shows of a value is short and harmless", () => {
  const one = compiled({ is: "param_exists", field: field("t") });
  const [trace] = explainRule(one, lookAt({ params: part({ t: `\u202e${"a".repeat(5000)}` }) }));
  expect(trace.saw).toMatch(/^"\\u202eaaa/);
  expect(trace.saw?.length).toBeLessThan(120);
  expect(explainRule(one, lookAt({ params: undefined }))).toMatchObject([{ answer: "unsure", saw: null }]);
});

test.each<[string, Partial<Parameters<typeof rule>[1]>, Condition[], string]>([
  ["looks at a result", {}, [{ is: "not", condition: { is: "result_exists", field: field("a") } }], "answered"],
  ["looks at an error", {}, [{ is: "any", conditions: [YES, { is: "error_code_equals", code: 1 }] }], "answered"],
  ["looks at what is said", {}, [{ is: "method_equals", text: "tools/call" }], "said"],
  ["has no conditions", {}, [], "said"],
  ["hides", { actions: [{ does: "hide" }] }, [{ is: "method_equals", text: "tools/list" }], "answered"],
  [
    "is about what comes down to a call",
    { direction: "down" },
    [{ is: "method_equals", text: "tools/call" }],
    "answered",
  ],
  ["is about what goes up as a call", { direction: "up" }, [{ is: "method_equals", text: "tools/call" }], "said"],
  [
    "is about what goes up to sampling",
    {},
    [
      { is: "direction", direction: "up" },
      { is: "method_in", texts: new Set(["sampling/createMessage"]) },
    ],
    "answered",
  ],
  ["is about what may go both ways", { direction: "down" }, [{ is: "method_equals", text: "ping" }], "said"],
])("a rule that %s is judged in time", (_, changes, conditions, moment) => {
  expect(compileRules([rule(conditions, changes)], null)[0].moment).toBe(moment);
});

/** What a condition means on a value that JSON.parse has read. */
function meaning(condition: Condition, params: unknown): boolean {
  if (condition.is === "all") return condition.conditions.every((one) => meaning(one, params));
  if (condition.is === "any") return condition.conditions.some((one) => meaning(one, params));
  if (condition.is === "not") return !meaning(condition.condition, params);
  if (!("field" in condition)) throw new Error(condition.is);
  const value = follow(params, condition.field.steps);
  if (value === undefined) return false;
  if (condition.is === "param_exists") return true;
  if (condition.is === "param_is_null") return value === null;
  if (condition.is === "param_is_array") return Array.isArray(value);
  if (condition.is === "param_equals") return plain(value) === plain(condition.value);
  if (condition.is === "param_in") return condition.values.some((one) => plain(one) === plain(value));
  if (typeof value !== "number") return false;
  if (condition.is === "param_greater_than") return value > condition.value;
  if (condition.is === "param_less_than") return value < condition.value;
  throw new Error(condition.is);
}

function follow(whole: unknown, steps: readonly (string | number)[]): unknown {
  return steps.reduce<unknown>((value, step) => {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, step)) return undefined;
    if (Array.isArray(value) && typeof step !== "number") return undefined;
    return (value as Record<string | number, unknown>)[step];
  }, whole);
}

/** The text of a value, its members in order. */
function plain(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    one !== null && typeof one === "object" && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}

const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false, 0, 1, 2.5, -3, "", "a", "é\n"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "0", ""), tie("value"), { maxKeys: 3 }),
  ),
})).value;
const someField = fc.array(fc.constantFrom("a", "b", "", 0, 1), { maxLength: 3 }).map((steps) => field(...steps));
const someCondition = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3 },
    fc.record({ is: fc.constantFrom("param_exists", "param_is_null", "param_is_array"), field: someField }),
    fc.record({ is: fc.constant("param_equals"), field: someField, value: json }),
    fc.record({ is: fc.constant("param_in"), field: someField, values: fc.array(json, { maxLength: 3 }) }),
    fc.record({
      is: fc.constantFrom("param_greater_than", "param_less_than"),
      field: someField,
      value: fc.constantFrom(0, 1, 2.5),
    }),
    fc.record({ is: fc.constantFrom("all", "any"), conditions: fc.array(tie("condition"), { maxLength: 3 }) }),
    fc.record({ is: fc.constant("not"), condition: tie("condition") }),
  ),
})).condition;

test("conditions on the bytes of a message mean what they mean on its value", () => {
  fc.assert(
    fc.property(fc.array(someCondition, { maxLength: 3 }), json, fc.boolean(), (conditions, params, isWide) => {
      const text = JSON.stringify(params, null, isWide ? "\t" : undefined);
      const look = lookAt({ params: part(text) });
      const rules = compileRules([rule(conditions), rule(conditions)], null);
      const wanted = conditions.every((condition) => meaning(condition, params)) ? "yes" : "no";
      expect(rules.map((one) => askRule(one, look))).toEqual([wanted, wanted]);
      expect(explainRule(rules[0], look).every(({ answer }) => answer === "yes")).toBe(wanted === "yes");
    }),
    { numRuns: runs(2000) },
  );
});
