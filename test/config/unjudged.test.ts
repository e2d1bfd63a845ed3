import { describe, expect, test } from "vitest";
import { readPolicy } from "../../src/config/read-policy.ts";
import { loadCel } from "../../src/rules/cel.ts";
import { loadPatterns } from "../../src/rules/patterns.ts";
import { withRule } from "./reading.ts";

const engines = { pattern: await loadPatterns(), cel: await loadCel([]) };

function warnings(text: string): string[] {
  const { policy, warnings } = readPolicy(text, { file: "p.yaml", env: {}, engines });
  expect(policy).not.toBeNull();
  return warnings.map(({ line, column, code, message, suggestion }) => {
    return `${line}:${column} ${code}: ${message} → ${suggestion}`;
  });
}

const cel = (expression: string): string => `{ cel: ${JSON.stringify(expression)} }`;

describe("a rule that cannot judge the handshake, and so refuses it, is a warning", () => {
  test("with the reason, and what to do", () => {
    expect(warnings(withRule(`[${cel('params.name == "pay"')}]`))).toEqual([
      "3:7 handshake: Rule r cannot judge initialize, and so blocks it (cel: No such key: name): no client can begin a session" +
        " → Put method_equals: tools/call before it, or ask with has(…) first",
    ]);
  });

  test.each([
    ["the request", `[${cel("params.arguments.sum > 100")}]`, "[{ block: no }]"],
    ["the answer", `[${cel('result.content[0].text == "x"')}]`, "[{ block: no }]"],
    ["the request, to change it", `[${cel("params.arguments.sum > 100")}]`, "[{ set_param: { field: a, value: 1 } }]"],
    ["the request, by what is under not", `[{ not: ${cel("params.name > 1")} }]`, "[{ block: no }]"],
    ["the request, by one of several", `[{ direction: up }, ${cel("params.name > 1")}]`, "[{ block: no }]"],
  ])("%s", (_, conditions, actions) => {
    expect(warnings(withRule(conditions, actions)).join()).toContain("Rule r cannot judge initialize");
  });

  test.each([
    ["is only about calls", withRule(`[{ method_equals: tools/call }, ${cel("params.arguments.sum > 100")}]`)],
    ["asks for the method itself", withRule(`[${cel('method == "tools/call" && params.arguments.sum > 100')}]`)],
    ["asks first", withRule(`[${cel("has(params.arguments) && has(params.arguments.sum)")}]`)],
    ["asks for a part of the handshake", withRule(`[${cel('params.clientInfo.name == "evil"')}]`)],
    ["asks who it is", withRule(`[${cel('client.name == "evil"')}]`)],
    ["only watches", withRule(`[${cel("params.name > 1")}]`, "[{ log: { level: warn, message: x } }]")],
    ["is off", withRule(`[${cel("params.name > 1")}]`, undefined, "      enabled: false\n")],
    ["only says what it would do", withRule(`[${cel("params.name > 1")}]`, undefined, "      enabled: observe\n")],
    ["is for what comes down", withRule(`[${cel("params.name > 1")}]`, undefined, "      direction: down\n")],
    [
      "lets pass what cannot be judged",
      withRule(`[${cel("params.name > 1")}]`, undefined, "  chain: { on_error: allow }\n"),
    ],
  ])("not one that %s", (_, text) => {
    expect(warnings(text)).toEqual([]);
  });
});
