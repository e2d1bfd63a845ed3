import { describe, expect, test } from "vitest";
import { describeMember } from "../../../src/policy/file/input-schema.ts";
import { readPolicy } from "../../../src/policy/file/read-policy.ts";
import { loadPatterns } from "../../../src/policy/rules/patterns.ts";
import { withRule } from "./reading.ts";

const engines = { pattern: await loadPatterns(), cel: () => ({}) };

const text = { type: "string" };
const TOOLS = [
  { name: "read_file", inputSchema: { type: "object", properties: { path: text, head: { type: "number" } } } },
  { name: "delete_file", inputSchema: { type: "object", properties: { path: text, tags: { type: "array" } } } },
  { name: "run", inputSchema: { type: "object" } },
];

/** What is said about a policy beside a server with those tools. */
function said(policy: string, tools = TOOLS): string[] {
  const { mistakes, warnings } = readPolicy(policy, { file: "p.yaml", env: {}, engines, facts: { tools } });
  expect(mistakes).toEqual([]);
  return warnings.map(({ code, message, suggestion }) => `${code}: ${message} → ${suggestion}`);
}

describe("a tool that the server does not have is a warning", () => {
  test.each([
    ["tools: { deny: [^delete_fiel$] }", "No tool of the server matches ^delete_fiel$ → Did you mean delete_file?"],
    ["tools: { allow: [zzz] }", "No tool of the server matches zzz → It has: read_file, delete_file, run"],
    [
      withRule("[{ tool_matches: ^read_flie$ }]"),
      "No tool of the server matches ^read_flie$ → Did you mean read_file?",
    ],
    [
      withRule("[{ method_equals: tools/call }, { param_equals: { field: name, value: reed_file } }]"),
      "The server has no tool reed_file → Did you mean read_file?",
    ],
    [
      withRule("[{ method_equals: tools/call }, { param_in: { field: name, values: [run, runs] } }]"),
      "The server has no tool runs → Did you mean run?",
    ],
    [
      withRule("[{ method_equals: tools/call }, { calls_so_far: { tool: rum, greater_than: 1 } }]"),
      "The server has no tool rum → Did you mean run?",
    ],
    [
      withRule("[{ method_equals: tools/call }, { not: { any: [{ tool_matches: ^red }] } }]"),
      "No tool of the server matches ^red → ",
    ],
    [
      "interceptor: { method_interceptors: { tools/call: { class: ToolCallInterceptor, config: { allowed_tools: [ran] } } } }",
      "The server has no tool ran → Did you mean run?",
    ],
  ])("%s", (policy, expected) => {
    const found = said(policy);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`unknown-tool: ${expected}`);
    // Without a server nobody knows.
    expect(readPolicy(policy, { file: "p.yaml", env: {}, engines }).warnings).toEqual([]);
  });

  test.each([
    ["a prompt", "prompts: { deny: [zzz] }"],
    ["a rule about lists", withRule("[{ method_equals: resources/list }, { tool_matches: ^file }]", "[hide]")],
    ["a rule that is off", withRule("[{ tool_matches: zzz }]", undefined, "      enabled: false\n")],
    [
      "a rule about another method",
      withRule("[{ method_equals: prompts/get }, { param_equals: { field: name, value: zzz } }]"),
    ],
    ["one that is there", withRule("[{ tool_matches: _file$ }]")],
  ])("not for %s", (_, policy) => {
    expect(said(policy)).toEqual([]);
  });
});

describe("an argument that no such tool has is a warning", () => {
  test.each([
    [
      "^read_file$",
      "param_exists: arguments.paht",
      "arguments.paht is not an argument of read_file → Did you mean arguments.path?",
    ],
    [
      "^read_file$",
      "param_exists: arguments.x",
      "arguments.x is not an argument of read_file → Known here: path, head",
    ],
    [
      "_file$",
      "param_exists: arguments.pathh",
      "arguments.pathh is not an argument of any of 2 tools → Did you mean arguments.path?",
    ],
    [
      "^read_file$",
      "param_exists: arguments.path.deep",
      "arguments.path.deep is not an argument of read_file → Known here",
    ],
    [
      "^read_file$",
      "touches: { globs: [.env], fields: [arguments.file] }",
      "arguments.file is not an argument of read_file",
    ],
    [
      "^read_file$",
      "param_matches: { field: arguments.head, pattern: x }",
      "arguments.head is number in read_file, and param_matches is for string",
    ],
    [
      "^read_file$",
      "param_greater_than: { field: arguments.path, value: 1 }",
      "arguments.path is string in read_file, and param_greater_than is for number",
    ],
    ["^delete_file$", "param_matches: { field: arguments.tags, pattern: x }", "arguments.tags is array in delete_file"],
  ])("%s, %s", (tool, condition, expected) => {
    const found = said(withRule(`[{ tool_matches: ${tool} }, { ${condition} }]`));
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`unknown-argument: ${expected}`);
  });

  test("in what is done, too", () => {
    const found = said(
      withRule("[{ tool_matches: ^read_file$ }]", "[{ set_param: { field: arguments.haed, value: 1 } }]"),
    );
    expect(found[0]).toContain("arguments.haed is not an argument of read_file → Did you mean arguments.head?");
  });

  test.each([
    ["^read_file$", "param_exists: arguments.path"],
    ["_file$", "param_exists: arguments.tags"],
    ["^run$", "param_exists: arguments.anything"],
    [".", "param_exists: arguments.anything"],
    ["^read_file$", "param_exists: arguments"],
    ["^read_file$", "param_exists: _meta.x"],
    ["^delete_file$", "param_within: { field: arguments.tags, paths: [/a] }"],
  ])("not for %s, %s", (tool, condition) => {
    expect(said(withRule(`[{ tool_matches: "${tool}" }, { ${condition} }]`, "[{ log: { message: x } }]"))).toEqual([]);
  });
});

test.each<[string, unknown, (string | number)[], string[] | null | "unknown"]>([
  ["a member", { properties: { a: text } }, ["a"], ["string"]],
  ["several types", { properties: { a: { type: ["string", "null"] } } }, ["a"], ["string", "null"]],
  ["no such member", { properties: { a: text } }, ["b"], "unknown"],
  ["deeper", { properties: { a: { type: "object", properties: { b: text } } } }, ["a", "b"], ["string"]],
  ["an item", { properties: { a: { type: "array", items: text } } }, ["a", 0], ["string"]],
  ["an item of a tuple", { properties: { a: { prefixItems: [text, { type: "number" }] } } }, ["a", 1], ["number"]],
  ["a reference", { properties: { a: { $ref: "#/$defs/x" } }, $defs: { x: text } }, ["a"], ["string"]],
  ["a reference that is not there", { properties: { a: { $ref: "#/$defs/y" } } }, ["a"], null],
  ["a reference to elsewhere", { properties: { a: { $ref: "https://x.test/a.json" } } }, ["a"], null],
  ["a reference to itself", { $ref: "#" }, ["a"], null],
  ["alternatives", { anyOf: [{ properties: { a: text } }, { properties: { b: text } }] }, ["b"], ["string"]],
  ["no alternative", { anyOf: [{ properties: { a: text } }, { properties: { b: text } }] }, ["c"], "unknown"],
  [
    "its own and alternatives",
    { type: "object", properties: { a: text }, allOf: [{ properties: { b: text } }] },
    ["a"],
    ["string"],
  ],
  ["others are welcome", { properties: { a: text }, additionalProperties: true }, ["b"], null],
  ["others of a type", { properties: {}, additionalProperties: text }, ["b"], null],
  ["by a pattern", { properties: {}, patternProperties: { "^x": text } }, ["b"], null],
  ["nothing said", {}, ["b"], null],
  ["nothing at all", undefined, ["b"], null],
  ["no schema", 7, ["b"], null],
  ["always", true, ["b"], null],
  ["never", false, ["b"], "unknown"],
  ["a name that all objects have", { properties: {} }, ["constructor"], "unknown"],
])("a schema with %s", (_, schema, steps, expected) => {
  const found = describeMember(schema, steps);
  expect(found === "unknown" ? found : found.types === null ? null : [...found.types]).toEqual(expected);
});
