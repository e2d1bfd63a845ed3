import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createScriptRunner } from "../../../src/link/script.ts";
import { type Case, loadCases } from "../../support/cases.ts";
import { call, line, result, rules, stageRules } from "../../support/rules.ts";

const CASES = new Map(loadCases().map((one) => [one.name, one]));
const played = new Set<string>();

function take(name: string): Case & { readonly said: string } {
  const found = CASES.get(name);
  if (found === undefined) throw new Error(`no such case: ${name}`);
  played.add(name);
  return Object.assign(Object.create(found) as Case, { said: `${found.bytes.toString("utf8")}\n` });
}

const uris = [...CASES.values()].filter(({ setup }) => String(setup?.["policy"]).startsWith("allow only file:"));

describe("links", () => {
  const POLICIES = {
    param_within: rules(`- id: data
  conditions: [{ method_equals: resources/read }, { not: { param_within: { field: uri, paths: [/data] } } }]
  actions: [{ block: no }]`),
    ResourceAccessInterceptor: `interceptor:
  method_interceptors: { resources/read: { class: ResourceAccessInterceptor, config: { allowed_paths: [/data] } } }
`,
    "a list of what is allowed": rules(
      `- id: data
  conditions: [{ method_equals: resources/read }, { param_within: { field: uri, paths: ["file:///data"] } }]
  actions: [allow]`,
      "{ default_action: block }",
    ),
  };

  test.each(Object.entries(POLICIES))("%s", async (_, policy) => {
    expect(uris).toHaveLength(16);
    for (const { name, verdict } of uris) {
      const { said } = take(name);
      const { client, heard } = await stageRules(policy);
      await client(said);
      expect({ name, heard: heard("server") }).toEqual({ name, heard: verdict === "forward" ? said : "" });
      expect(heard("client").includes('"code":-32001')).toBe(verdict === "deny");
    }
  });

  test("arg-path-traversal", async () => {
    const { client, heard } = await stageRules(
      rules(`- id: data
  conditions: [{ method_equals: tools/call }, { not: { param_within: { field: arguments.path, paths: [/data] } } }]
  actions: [{ block: no }]`),
    );
    await client(take("arg-path-traversal").said);
    expect(heard("server")).toBe("");
    expect(heard("client")).toContain('"code":-32001');
  });
});

describe("what servers ask for", () => {
  test.each([
    ["elicitation-url", `{ not: { param_within: { field: url, paths: ["https://login.example.com/"] } } }`],
    ["elicitation-javascript-url", `{ not: { param_matches: { field: url, pattern: "^https://" } } }`],
    ["sampling-blocked", "{ method_equals: sampling/createMessage }"],
    ["sampling-context-all", "{ not: { param_equals: { field: includeContext, value: none } } }"],
  ])("%s", async (name, condition) => {
    const { said, reply } = take(name);
    const method = name.startsWith("sampling") ? "sampling/createMessage" : "elicitation/create";
    const { server, heard } = await stageRules(
      rules(`- id: r
  conditions: [{ method_in: [${method}] }, ${condition}]
  actions: [{ block: { reason: no, code: ${reply?.code} } }]`),
    );
    await server(said);
    expect(heard("client")).toBe("");
    expect(JSON.parse(heard("server"))).toMatchObject({ id: reply?.id, error: { code: reply?.code, message: "no" } });
  });
});

describe("secrets in results", () => {
  const REDACT = rules(`- id: redact
  direction: down
  conditions: [{ method_equals: tools/call }]
  actions: [{ transform: redact }]`);

  test("redact-escaped-secret", async () => {
    const { said, mustNotLeak } = take("redact-escaped-secret");
    const { client, server, heard } = await stageRules(REDACT);
    await client(call(1, "safe_tool"));
    await server(said);
    const answer = heard("client");
    expect(answer).toBe(said.replace(/"\\u0041[^"]*"/, '"[redacted]"'));
    for (const word of mustNotLeak) expect(answer).not.toContain(word);
  });

  test("task-result-bypass", async () => {
    const { said, mustNotLeak } = take("task-result-bypass");
    const { client, server, heard } = await stageRules(REDACT);
    await client(line({ id: 11, method: "tasks/get", params: { taskId: "t1" } }));
    await server(said);
    const answer = heard("client");
    expect(answer).toBe(said.replace(mustNotLeak[0], "[redacted]"));
  });
});

describe("what may not be written into a policy", () => {
  test.each([
    ["set-param-proto", "set_param: { field: __proto__.polluted, value: true }", "__proto__ cannot be part of a field"],
    ["set-param-constructor", "set_param: { field: constructor.prototype.x, value: 1 }", "constructor cannot be part"],
    ["webhook-template-url", 'webhook: { url: "http://${param.arguments.host}/x" }', "depends on a message"],
    ["script-env-newline", 'run_script: { path: ./check, args: ["a\\0b"] }', "args[0]"],
  ])("%s", async (name, action, complaint) => {
    take(name);
    const policy = rules(`- id: r
  conditions: [{ method_equals: tools/call }]
  actions: [{ ${action} }]`);
    await expect(stageRules(policy)).rejects.toThrow(complaint);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test("nor with the braces of others: they are part of the host then, and no host", async () => {
    const policy = rules(`- id: r
  actions: [{ webhook: { url: "http://{{arguments.host}}/x" } }]`);
    await expect(stageRules(policy)).rejects.toThrow("url");
  });
});

describe("scripts", () => {
  test.each(["script-injection", "script-option-injection", "script-env-newline"])("%s", async (name) => {
    const { said } = take(name);
    const complaints: string[] = [];
    const runner = createScriptRunner({
      cwd: "/",
      onComplaint: (_, text) => complaints.push(text),
      onTrouble: (text) => complaints.push(text),
    });
    const { client, heard } = await stageRules(
      rules(`- id: r
  conditions: [{ method_equals: tools/call }]
  actions: [{ run_script: { path: /bin/sh, args: ["-c", 'cat >/dev/null; echo "$@" >&2; echo "{\\"action\\":\\"allow\\"}"', sh, "--"] } }]`),
      {
        hook: (action, body) =>
          action.does === "run_script" ? runner.run(action, Buffer.from(body)) : { failure: "no script" },
      },
    );
    await client(said);
    for (let tries = 0, up = ""; up === ""; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      up = heard("server");
      if (up !== "") expect(up).toBe(said);
      expect(tries).toBeLessThan(200);
    }
    runner.close();
    // Its arguments are those of the policy, whatever the message says.
    expect(complaints).toEqual(["--"]);
    expect(existsSync("/tmp/pwned")).toBe(false);
  });
});

function spelled(id: number, value: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"safe_tool","arguments":{"v":${value}}}}\n`;
}

describe("memory", () => {
  const CACHE = rules(`- id: keep
  conditions: [{ method_equals: tools/call }]
  actions: [{ cache: { key: "\${params_hash}", ttl: 5m, scope: shared } }]`);

  test("cache-key-collision", async () => {
    const { said } = take("cache-key-collision");
    const first = await stageRules(CACHE.replace("shared", "private"), {
      owner: { identity: "user-a", scope: null, audience: null },
    });
    await first.client(said);
    await first.server(result(3, { content: [] }));
    const second = await stageRules(CACHE.replace("shared", "private"), {
      owner: { identity: "user-b", scope: null, audience: null },
      state: first.state,
    });
    await second.client(said);
    expect(second.heard("server")).toBe(said);
    // Values are kept apart: no text in one makes it another.
    const others = [{ a: '1","b":"2' }, { a: "1", b: 2 }, { "a\0b": "12" }, { ab: "12" }];
    for (const [nth, args] of others.entries()) {
      await first.client(call(10 + nth, "safe_tool", args));
      expect(first.heard("server")).toContain(`"id":${10 + nth}`);
    }
    for (const answer of [{ isError: true }, { resultType: "input_required", inputRequests: {} }]) {
      const again = await stageRules(CACHE);
      await again.client(call(1, "safe_tool"));
      await again.server(result(1, answer));
      again.heard("server");
      await again.client(call(2, "safe_tool"));
      expect(again.heard("server")).toBe(call(2, "safe_tool"));
    }
  });

  test("cache-arg-order", async () => {
    const { said } = take("cache-arg-order");
    const { client, server, heard } = await stageRules(CACHE);
    await client(call(1, "safe_tool", { a: "1", b: "2" }));
    await server(result(1, { n: 1 }));
    heard("server");
    heard("client");
    await client(said);
    expect(heard("client")).toBe(result(4, { n: 1 }));
    for (const [nth, value] of ["null", "1e400", "1e401", '"1"', "true", "[1]", "9007199254740993"].entries()) {
      await client(spelled(10 + nth, value));
      expect(heard("server")).toBe(spelled(10 + nth, value));
      await server(result(10 + nth, { value }));
    }
  });

  test("rate-limit-name-variants", async () => {
    const { said } = take("rate-limit-name-variants");
    const { client, heard } = await stageRules(
      rules(`- id: once
  conditions: [{ method_equals: tools/call }]
  actions: [{ rate_limit: { key: "\${tool}", limit: 1, window: 1m } }]`),
    );
    await client(said);
    expect(heard("server")).toBe(said);
    for (const name of ["safe_tool", "SAFE_TOOL", "safe_tool\u200b", "ｓafe_tool"]) {
      await client(call(2, name));
      expect(heard("server")).toBe("");
      expect(heard("client")).toContain("Rate limit exceeded");
    }
  });
});

test("every case that needs rules has been played", () => {
  const wanted = [...CASES.values()].filter(({ setup }) => setup !== null && ("policy" in setup || "rule" in setup));
  expect(wanted.map(({ name }) => name).filter((name) => !played.has(name))).toEqual([]);
});
