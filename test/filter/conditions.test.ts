import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileFilter } from "../../src/filter/compile.ts";
import { toConditions } from "../../src/filter/conditions.ts";
import { parseFilter } from "../../src/filter/parse.ts";
import { loadCel } from "../../src/rules/cel.ts";
import { askRule, compileRules } from "../../src/rules/compiled-rule.ts";
import { readPolicy } from "../../src/config/read-policy.ts";
import type { Rule } from "../../src/rules/rule.ts";
import { lookAt, part } from "../rules/support.ts";
import { filterOf, patterns, type Row, viewRow } from "./support.ts";
import { runs } from "../support/runs.ts";

const cel = await loadCel(["matches"]);

/** The rule that has these conditions; the codes of the mistakes where there is none. */
function ruleOf(conditions: readonly object[]): Rule | string[] {
  // A file of JSON is one of YAML.
  const text = JSON.stringify({
    interceptor: { rules: [{ id: "r", conditions, actions: [{ log: { level: "info", message: "x" } }] }] },
  });
  const { policy, mistakes } = readPolicy(text, { file: "x.yaml", env: {}, engines: { pattern: patterns, cel } });
  return policy?.interceptor.rules[0] ?? mistakes.map(({ code, message }) => `${code} ${message}`);
}

describe("a filter becomes conditions:", () => {
  test.each<[string, unknown[], string[]]>([
    [
      "tool:write_file arg.path:/etc",
      [{ tool_matches: "(?i)write_file" }, { param_matches: { field: "arguments.path", pattern: "(?i)/etc" } }],
      [],
    ],
    ["tool=a.b", [{ tool_matches: "^a\\.b$" }], []],
    ["tool=a,b", [{ tool_matches: "^(?:a|b)$" }], []],
    ["client:cursor,claude", [{ client_matches: "(?i)cursor|claude" }], []],
    ["-client:*", [{ not: { client_matches: "^" } }], []],
    ["method=tools/call", [{ method_equals: "tools/call" }], []],
    ["method=tools/call,ping", [{ method_in: ["tools/call", "ping"] }], []],
    ["identity~/^ci-/i", [{ identity_matches: "(?i)^ci-" }], []],
    ["session=a41f", [{ session_id_equals: "a41f" }], []],
    ["session:a41f", [], ["session:a41f: rules compare the whole id of a session: write session="]],
    ["dir:down code:-32603", [{ direction: "down" }, { error_code_equals: -32603 }], []],
    ["code:-32700..-32600", [], ["code:-32700..-32600: rules compare the code of an error with one number"]],
    ["arg.n=5", [{ param_in: { field: "arguments.n", values: ["5", 5] } }], []],
    ["arg.n=05", [{ param_equals: { field: "arguments.n", value: "05" } }], []],
    ["arg.force:*", [{ param_exists: "arguments.force" }], []],
    ['arg["a b"][0]:*', [{ param_exists: 'arguments["a b"][0]' }], []],
    [
      "result.isError=true",
      [
        {
          any: [
            { result_equals: { field: "isError", value: "true" } },
            { result_equals: { field: "isError", value: true } },
          ],
        },
      ],
      [],
    ],
    ["error:refused", [{ error_message_contains: "refused" }], []],
    [
      "(tool=a or tool=b) -client=c",
      [{ any: [{ tool_matches: "^a$" }, { tool_matches: "^b$" }] }, { not: { client_matches: "^c$" } }],
      [],
    ],
    [
      "tool=a latency>1s (client=b or is:slow) word",
      [{ tool_matches: "^a$" }],
      [
        "latency>1s: rules have no condition for latency",
        "client=b or is:slow: rules have no condition for is",
        "word: rules do not look at what a row shows",
      ],
    ],
  ])("%s", (text, conditions, left) => {
    const made = toConditions(filterOf(text));
    expect(made.conditions).toEqual(conditions);
    expect(made.left.map(({ text: part, why }) => `${part}: ${why}`)).toEqual(left);
    if (conditions.length > 0) expect(ruleOf(made.conditions)).toHaveProperty("id");
  });
});

test("where a rule is narrower than the filter, it is said", () => {
  expect(toConditions(filterOf("arg.n:5 error:Refused tool:x")).notes.map(({ text }) => text)).toEqual([
    "arguments.n is searched only where it is a text",
    "rules look for the message of an error with its capital and small letters",
  ]);
});

const word = fc.constantFrom("a", "b", "A", "ab", "a.b", "5", "x y", "|", "(", "");
const body = fc.dictionary(fc.constantFrom("p", "q"), word, { maxKeys: 2 });
const message = fc.record({
  tool: fc.option(word),
  client: fc.option(word),
  identity: fc.option(word),
  method: fc.constantFrom("tools/call", "ping"),
  session: word,
  dir: fc.constantFrom("up", "down"),
  args: body,
  answer: fc.option(body),
  error: fc.option(fc.record({ code: fc.constantFrom(1, -32603), message: fc.constantFrom("a", "b") })),
});

const term = fc
  .tuple(
    fc.constantFrom("tool", "client", "identity", "method", "session", "arg.p", "result.p"),
    fc.constantFrom(":", "=", "!="),
    fc.array(
      word.map((value) => `"${value}"`),
      { minLength: 1, maxLength: 2 },
    ),
  )
  .map(([field, operator, values]) => (field === "session" ? "session=a" : `${field}${operator}${values.join(",")}`));
const other = fc.constantFrom(
  "arg.p:*",
  "tool:*",
  "result.p:*",
  "dir:up",
  "code:1",
  "code:1,-32603",
  "error:5",
  "tool~/^a/i",
);
const sometimesNot = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(fc.boolean(), text).map(([isNot, inner]) => (isNot ? `-(${inner})` : inner));
const filter = fc
  .array(sometimesNot(fc.oneof(term, other)), { minLength: 1, maxLength: 3 })
  .chain((terms) => fc.constantFrom(" ", " or ").map((between) => terms.join(between)));

test("a rule with these conditions matches what the filter finds", () => {
  let compared = 0;
  fc.assert(
    fc.property(filter, fc.array(message, { minLength: 6, maxLength: 6 }), (text, messages) => {
      const { filter: read } = parseFilter(text, { patterns });
      if (read === null) throw new Error(text);
      const { conditions, left } = toConditions(read);
      expect(left).toEqual([]);
      const rule = ruleOf(conditions);
      if (Array.isArray(rule)) {
        // Policies refuse rules that can never match; filters do not mind.
        for (const mistake of rule) expect(mistake).toMatch(/^(?:never-matches|dead-branch|no-effect)/);
        return;
      }
      const compiled = compileFilter(read, { now: 0, patterns });
      const [ready] = compileRules([rule], null);
      for (const { dir, args, answer, error, session, ...rest } of messages) {
        const row: Row = {
          ...rest,
          dir,
          session,
          args,
          answer: error === null ? answer : null,
          error: error?.message,
          code: error?.code ?? null,
        };
        const view = lookAt({
          ...rest,
          direction: dir as "up",
          params: part({ name: "n", arguments: args }),
          result: error === null && answer !== null ? part(answer) : null,
          error: error === null ? null : part(error),
          session: { id: session, ageMs: () => 0, messages: 1, methods: new Map(), calls: () => 0, state: new Map() },
          sessionIds: () => [session],
        });
        expect(askRule(ready, view), text).toBe(
          compiled.test(viewRow({ ...row, error: row["error"] ?? null })) ? "yes" : "no",
        );
        compared++;
      }
    }),
    { numRuns: runs(400) },
  );
  expect(compared).toBeGreaterThan(runs(500));
});
