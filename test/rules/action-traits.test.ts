import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { asksOutside, hidesElements, isDeciding, isWatching, TRAITS, traitsOf } from "../../src/rules/action-traits.ts";
import type { RuleAction } from "../../src/rules/rule.ts";
import { read, withRule } from "../config/reading.ts";

// Every action as a policy file writes it. The compiler asks for the line of a new one.
const WRITTEN: Readonly<Record<RuleAction["does"], string>> = {
  allow: "allow",
  block: "block: no",
  inject_error: "inject_error: { code: 1, message: no }",
  delay: "delay: 1s",
  set_param: "set_param: { field: a, value: 1 }",
  remove_param: "remove_param: a",
  set_result: "set_result: { field: a, value: 1 }",
  transform: "transform: redact",
  hide: "hide",
  log: "log: { message: a }",
  metric: "metric: { name: a }",
  webhook: "webhook: { url: 'https://x.test', wait: true }",
  run_script: "run_script: { path: a }",
  rate_limit: "rate_limit: { key: a, limit: 1, window: 1s }",
  cache: "cache: { key: a, ttl: 1s }",
  fork: "fork: {}",
  set_state: "set_state: { key: a, value: 1 }",
};

const NAMES = Object.keys(WRITTEN) as RuleAction["does"][];

function write(text: string): string {
  return text.includes(":") ? `{ ${text} }` : text;
}

function make(text: string): RuleAction {
  const action = read(withRule("[]", `[${write(text)}]`)).policy?.interceptor.rules[0].actions[0];
  if (action === undefined) throw new Error(`not an action: ${text}`);
  return action;
}

describe("the traits of actions", () => {
  test.each(NAMES)("%s has the traits of its line in the table where its settings take nothing away", (does) => {
    expect(traitsOf(make(WRITTEN[does]))).toBe(TRAITS[does]);
  });

  test("a webhook that nobody waits for only observes", () => {
    const action = make("webhook: { url: 'https://x.test' }");
    expect([isWatching(action), isDeciding(action), asksOutside(action), traitsOf(action).canRefuse]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  test("a transform by a module is not run for a trial", () => {
    expect(traitsOf(make("transform: { module: ./a.mjs }")).dryRun).toBe("name");
    expect(traitsOf(make("transform: redact")).dryRun).toBe("trial");
  });

  test("every action that asks outside has a timeout", () => {
    const asking = NAMES.map((does) => make(WRITTEN[does])).filter(asksOutside);
    expect(asking.map(({ does }) => does)).toEqual(["webhook", "run_script"]);
    for (const { timeoutMs } of asking) expect(timeoutMs).toBeGreaterThan(0);
  });

  test("one action that hides makes a rule that hides", () => {
    expect(hidesElements({ actions: [make("log: { message: a }"), make("hide")] })).toBe(true);
    expect(hidesElements({ actions: [make("log: { message: a }")] })).toBe(false);
  });
});

describe("who asks for the traits of an action", () => {
  test.each(NAMES)("check warns of %s after block, unless it only observes", (does) => {
    const { mistakes, warnings } = read(withRule("[{ tool_matches: x }]", `[{ block: a }, ${write(WRITTEN[does])}]`));
    const warned = [...mistakes, ...warnings]
      .map(({ message }) => message)
      .includes(`${does} does nothing after block`);
    expect(warned).toBe(TRAITS[does].part !== "observes");
  });

  test("docs/rules.md names the actions that come too late for an answer", () => {
    const page = readFileSync(resolve(import.meta.dirname, "../../docs/rules.md"), "utf8");
    const [, list] = /A rule about responses cannot have the actions ([^,]+(?:, `\w+`)* or `\w+`),/.exec(page) ?? [];
    const named = Array.from(list.matchAll(/`(\w+)`/g), ([, name]) => name);
    expect(named.sort()).toEqual(NAMES.filter((does) => TRAITS[does].needs === "request").sort());
  });
});
