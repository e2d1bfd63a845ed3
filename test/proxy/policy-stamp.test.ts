import { expect, test } from "vitest";
import { namesIn } from "../../src/proxy/hub.ts";
import { stampPolicy } from "../../src/proxy/policy-stamp.ts";
import type { PolicyStamp } from "../../src/record/event.ts";
import { readSettings } from "../support/rules.ts";

async function stamp(text: string, observe = false): Promise<PolicyStamp> {
  const settings = await readSettings(text);
  const { deny, allow } = settings.tools;
  return stampPolicy({ deny, allow, names: namesIn(settings), interceptor: settings.interceptor, observe });
}

const version = async (text: string, observe = false): Promise<string> => (await stamp(text, observe)).version;

const RULE = `tools: { deny: ["^delete_"] }
interceptor:
  rules:
    - id: no-secrets
      conditions: [{ method_in: [tools/call, prompts/get] }, { param_matches: { field: name, pattern: secret } }]
      actions: [{ block: "no" }]
      metadata: { owner: security, ticket: 12345678901234567890, log: "x" }
`;

test("the same policy has the same version, wherever its lines stand", async () => {
  expect(await version(RULE)).toMatch(/^[0-9a-f]{12}$/);
  expect(await version(`# a comment\n\n${RULE}`)).toBe(await version(RULE));
  expect(await version(`listen: 8808\n${RULE}`)).toBe(await version(RULE)); // it judges nothing
});

test.each([
  ["a pattern for tools", "^delete_", "^drop_"],
  ["a method", "prompts/get", "resources/read"],
  ["a pattern of a rule", "pattern: secret", "pattern: token"],
  ["what is said", 'block: "no"', 'block: "never"'],
  ["metadata", "owner: security", "owner: legal"],
])("another policy has another version: %s", async (_, part, other) => {
  expect(await version(RULE.replace(part, other))).not.toBe(await version(RULE));
});

test("a policy that only watches is another one", async () => {
  expect(await version(RULE, true)).not.toBe(await version(RULE));
});

const hook = (secret: string): string => `interceptor:
  rules:
    - id: tell
      conditions: [{ method_equals: tools/call }]
      actions: [{ webhook: { url: "https://example.com", secret: ${secret} } }]
`;

test("a secret of a webhook does not show in the version", async () => {
  expect(await version(hook("abcdefghijklmnop"))).toBe(await version(hook("ponmlkjihgfedcba")));
});

test("what a rule is noted with is found by its name in the log", async () => {
  const { metadata } = await stamp(RULE);
  expect(metadata("rule:no-secrets")).toEqual({ owner: "security", ticket: "12345678901234567890", log: "x" });
  expect(metadata("rule:other")).toBeNull();
  expect(metadata("tools")).toBeNull();
});

test("metadata that is too long to repeat with every event is left out", async () => {
  const { metadata } = await stamp(RULE.replace("security", "x".repeat(4096)));
  expect(metadata("rule:no-secrets")).toBeNull();
});
