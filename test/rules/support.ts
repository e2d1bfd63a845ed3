import { compileRules, type CompiledRule } from "../../src/rules/compiled-rule.ts";
import type { Part } from "../../src/rules/fields.ts";
import type { Condition, Rule, RulePattern } from "../../src/rules/rule.ts";
import type { Field } from "../../src/message/field.ts";
import { beginLook, type Look, type RuleView } from "../../src/rules/view.ts";
import type { SessionFacts } from "../../src/store/session-facts.ts";

/** A way into a message, given by its steps. */
export function field(...steps: (string | number)[]): Field {
  return { text: steps.join("."), steps };
}

/** A pattern for tests. They choose their own, and none of them hangs. */
export function pattern(source: string): RulePattern {
  return { source, test: (text) => new RegExp(source).test(text) };
}

/** A value as part of a message, with other text around it. */
export function part(value: unknown): Part {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const before = '{"x":"{[\\"",  ';
  const bytes = Buffer.from(`${before}${text}  ,"y":1}`);
  return { bytes, start: Buffer.byteLength(before), end: Buffer.byteLength(before) + Buffer.byteLength(text) };
}

const SESSION: SessionFacts = {
  id: "s1",
  ageMs: () => 5000,
  messages: 7,
  methods: new Map([
    ["tools/call", { requests: 4, results: 2, errors: 1, notifications: 0, answeredInMs: 30.4, lastAt: 9 }],
  ]),
  calls: () => 3,
  state: new Map(),
};

/** A call of a tool, unless said otherwise. */
export function view(changes: Partial<RuleView> = {}): RuleView {
  return {
    kind: "request",
    direction: "up",
    method: "tools/call",
    params: part({ name: "read_file", arguments: { path: "/data/a" } }),
    result: null,
    error: null,
    tool: "read_file",
    client: "Tester",
    identity: null,
    server: "npx server",
    session: SESSION,
    sessionIds: () => ["s1", "3f0c", "mcp-1"],
    mcpSession: "mcp-1",
    ...changes,
  };
}

/** The look at a message. */
export function lookAt(changes: Partial<RuleView> = {}): Look {
  return beginLook(view(changes));
}

/** A rule that does nothing, unless said otherwise. */
export function rule(conditions: readonly Condition[], changes: Partial<Rule> = {}): Rule {
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
    ...changes,
  };
}

/** One rule, ready to be asked. */
export function compiled(...conditions: Condition[]): CompiledRule {
  return compileRules([rule(conditions)], null)[0];
}
