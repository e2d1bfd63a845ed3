import { expect, test } from "vitest";
import { composeExplanation, composeExplanationJson } from "../../src/cli/explanation.ts";
import { explainMessage } from "../../src/proxy/explain.ts";
import { findHidingRules } from "../../src/proxy/hiding-rules.ts";
import { readSettings, rules } from "../support/rules.ts";

const HIDING = rules(`- id: nothing-destructive
  conditions: [{ method_equals: tools/list }, { result_equals: { field: annotations.destructiveHint, value: true } }]
  actions: [hide]
- id: no-admin
  priority: 5
  conditions: [{ tool_matches: ^admin_ }]
  actions: [hide]
- id: watched
  enabled: observe
  conditions: [{ tool_matches: ^read }]
  actions: [hide]
- id: other-list
  conditions: [{ method_equals: prompts/list }]
  actions: [hide]`);

const TOOLS = [
  { name: "read", inputSchema: {} },
  { name: "delete", inputSchema: {}, annotations: { destructiveHint: true } },
  { name: "admin_delete", inputSchema: {}, annotations: { destructiveHint: true } },
];
const definitions = TOOLS.map((tool) => ({ name: tool.name, raw: Buffer.from(JSON.stringify(tool)) }));

test("it is found which rule hides which tool, the one with the highest priority first", async () => {
  const { interceptor } = await readSettings(HIDING);
  expect(await findHidingRules(interceptor, definitions)).toEqual([null, "nothing-destructive", "no-admin"]);
  expect(await findHidingRules({ ...interceptor, enabled: false }, definitions)).toEqual([null, null, null]);
  expect(await findHidingRules({ ...interceptor, rules: [] }, definitions)).toEqual([null, null, null]);
});

async function explainList(tools: readonly object[]) {
  return explainMessage({
    settings: await readSettings(HIDING),
    folder: "/",
    message: JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } }),
    direction: "down",
    request: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    identity: null,
    client: null,
  });
}

test("an explanation of a list says what each rule hides of it, and the outcome agrees", async () => {
  const explanation = await explainList(TOOLS);
  const text = composeExplanation(explanation);
  expect(text).toContain(`  ✓ no-admin (line 6, priority 5): hides 1 of 3 entries
      for admin_delete:
      ✓ tool_matches /^admin_/, it is admin_delete
      → hide admin_delete
  ✓ nothing-destructive (line 3): hides 2 of 3 entries
      for delete:
      ✓ method_equals tools/list, it is tools/list
      ✓ result_equals annotations.destructiveHint true, it is true
      → hide delete, admin_delete
`);
  expect(text).toContain("Outcome: passes, changed by rule:nothing-destructive");
  const { messages } = JSON.parse(composeExplanationJson(explanation)) as {
    messages: { rules: { id: string; matched: string; hides?: string[] }[] }[];
  };
  expect(messages[0].rules[0]).toMatchObject({ id: "no-admin", matched: "yes", hides: ["admin_delete"] });
});

test("a rule that hides nothing of a list is said to hide nothing", async () => {
  const text = composeExplanation(await explainList(TOOLS.slice(0, 1)));
  expect(text).toContain("✗ no-admin (line 6, priority 5): hides none of 1 entries");
  expect(text).toContain("Outcome: passes as it is");
});
