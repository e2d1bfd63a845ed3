import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createMemoryState } from "../../../src/store/state.ts";
import { createMemoryLimits } from "../../../src/store/limits.ts";
import { call, line, remembersElsewhere, result, rules, stageRules } from "../../support/rules.ts";

describe("copies", () => {
  const COPY = `- id: copy
  priority: 100
  conditions: [{ method_equals: tools/call }]
  actions: [{ fork: { copies: 1 } }]
- id: no-deletes
  conditions: [{ tool_matches: delete }]
  actions: [{ block: "no" }]
- id: no-token
  conditions: [{ param_exists: arguments.token }]
  actions: [{ remove_param: arguments.token }]`;

  test("of what a later rule refuses are not sent", async () => {
    const { client, effects } = await stageRules(rules(COPY));
    await client(call(1, "delete_all"));
    expect(effects.forked).toEqual([]);
  });

  test("of what the tool filter refuses once it was changed are not sent", async () => {
    const { client, server, heard, effects } = await stageRules(`tools: { deny: ["^delete_"] }
${rules(`- id: copy
  priority: 100
  conditions: [{ method_equals: tools/call }]
  actions: [{ fork: { copies: 1 } }]
- id: other
  conditions: [{ param_exists: arguments.other }]
  actions: [{ set_param: { field: name, value: delete_all } }]`)}`);
    await client(line({ id: 0, method: "tools/list" }));
    const tools = ["read", "delete_all"].map((name) => ({ name, inputSchema: {} }));
    await server(result(0, { tools }));
    heard("client");
    await client(call(1, "read", { other: true }));
    expect(heard("client")).toContain("Tool not found: delete_all");
    expect(effects.forked).toEqual([]);
    await client(call(2, "read"));
    expect(effects.forked).toEqual([`copy ${call(2, "read").trimEnd()}`]);
    await server(result(2, {}));
    expect(effects.forked).toHaveLength(2);
  });

  test("are of the message that goes on", async () => {
    const { client, effects } = await stageRules(rules(COPY));
    await client(call(1, "read", { token: "abc" }));
    expect(effects.forked).toEqual([`copy ${call(1, "read").trimEnd()}`]);
  });
});

describe("a client that wants what a task brings", () => {
  const SECRET = rules(`- id: secret
  conditions: [{ tool_matches: "^secret$" }, { result_exists: content }]
  actions: [{ block: "no" }]`);
  const TASK = { task: { taskId: "T", status: "working" } };

  test("cannot call the server's task an answer of its own", async () => {
    const { client, server, heard } = await stageRules(SECRET);
    await client(call(1, "secret", {}, { task: {} }));
    await server(result(1, TASK), line({ id: 9, method: "ping" }));
    await client(result(9, TASK), line({ id: 2, method: "tasks/result", params: { taskId: "T" } }));
    await server(result(2, { content: ["SECRET"] }));
    expect(heard("client")).not.toContain("SECRET");
  });

  test("gets no other task by asking about it", async () => {
    const { client, server, heard } = await stageRules(SECRET);
    await client(call(1, "secret", {}, { task: {} }));
    await server(result(1, TASK));
    await client(line({ id: 2, method: "tasks/get", params: { taskId: "T" } }));
    await server(result(2, { ...TASK, resultType: "task", taskId: "T" }));
    await client(line({ id: 3, method: "tasks/result", params: { taskId: "T" } }));
    await server(result(3, { content: ["SECRET"] }));
    expect(heard("client")).not.toContain("SECRET");
  });
});

describe("a message that waits", () => {
  const SLOW = rules(`- id: slow
  conditions: [{ method_starts_with: tools/ }]
  actions: [{ delay: 40ms }, { metric: { name: late, value: 1 } }, { fork: { copies: 1 } }]
- id: news
  conditions: [{ method_starts_with: notifications/ }, { not: { method_equals: notifications/cancelled } }]
  actions: [{ delay: 40ms }]`);
  const CANCEL = line({ method: "notifications/cancelled", params: { requestId: 1 } });

  test("is done with when it is withdrawn", async () => {
    const { client, effects } = await stageRules(SLOW);
    await client(call(1, "a"), CANCEL);
    await delay(80);
    expect(effects).toMatchObject({ metrics: [], forked: [], said: [] });
  });

  test.skipIf(remembersElsewhere())("takes its room until what it waits for has stopped", async () => {
    const deaf = rules(`- id: deaf
  conditions: [{ method_equals: tools/call }]
  actions: [{ webhook: { url: "https://example.com/", wait: true } }]`);
    const { client, heard } = await stageRules(deaf, {
      maxParkedBytes: 40_000,
      hook: () => new Promise(() => {}),
    });
    for (let nth = 0; nth < 3; nth++) await client(call(1, "a"), CANCEL);
    expect(heard("client")).toContain("Too many messages are waiting");
  });

  test("and finds no room is done with", async () => {
    const { client, heard, effects } = await stageRules(SLOW, { maxParkedBytes: 10 });
    await client(call(1, "a"));
    expect(heard("client")).toContain("Too many messages are waiting");
    await delay(80);
    expect(effects).toMatchObject({ metrics: [], forked: [], said: [] });
  });

  test("takes more room than its own bytes", async () => {
    const { client, heard } = await stageRules(SLOW, { maxParkedBytes: 100_000 });
    await client(line({ method: "notifications/roots/list_changed" }).repeat(100));
    await delay(80);
    expect(heard("server").split("\n")).toHaveLength(7);
  });
});

describe("what hides behind another spelling", () => {
  const BAD = rules(`- id: hidden
  conditions: [{ method_equals: tools/list }, { tool_matches: "^bad" }]
  actions: [hide]`);

  test.each([
    ["a list", { tools: [], Tools: [{ name: "bad" }] }],
    ["a name", { tools: [{ name: "good", Name: "bad" }] }],
  ])("is not shown: %s", async (_, list) => {
    const { client, server, heard } = await stageRules(BAD);
    await client(line({ id: 1, method: "tools/list" }));
    await server(result(1, list));
    expect(heard("client")).not.toContain('"bad"');
  });
});

describe("what a client answers inside a request", () => {
  const ASKS = { resultType: "input_required", inputRequests: { k: { method: "roots/list" } } };
  const ROOTS = { inputResponses: { k: { roots: [{ uri: "file:///home" }, { uri: "file:///work" }] } } };

  test("is judged also where the server gave its question no state", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: roots
  direction: up
  conditions: [{ method_equals: roots/list }]
  actions: [{ block: "no" }]`),
    );
    await client(call(1, "a"));
    await server(result(1, ASKS));
    heard("server");
    await client(call(2, "a", {}, ROOTS));
    expect(heard("server")).toBe("");
    const said = call(3, "a", {}, { inputResponses: { k: { action: "accept" } } });
    await client(said);
    expect(heard("server")).toBe(said);
  });

  test("has elements hidden like any list", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: roots
  direction: up
  conditions: [{ method_equals: roots/list }, { result_matches: { field: uri, pattern: home } }]
  actions: [hide]`),
    );
    await client(call(1, "a"));
    await server(result(1, { ...ASKS, requestState: "s" }));
    heard("server");
    await client(call(2, "a", {}, { ...ROOTS, requestState: "s" }));
    expect(heard("server")).toContain('"roots":[{"uri":"file:///work"}]');
  });
});

describe("an answer from memory", () => {
  test("is judged with its request at hand", async () => {
    const { client, server, heard } = await stageRules(
      rules(`- id: keep
  conditions: [{ method_equals: tools/call }]
  actions: [{ cache: { key: "\${tool}", ttl: 5m } }]
- id: look
  conditions: [{ param_equals: { field: arguments.x, value: 2 } }, { result_exists: content }]
  actions: [{ block: "no" }]`),
    );
    await client(call(1, "a", { x: 1 }));
    await server(result(1, { content: [] }));
    await client(call(2, "a", { x: 1 }));
    expect(heard("client")).toBe(result(1, { content: [] }) + result(2, { content: [] }));
    await client(call(3, "a", { x: 2 }));
    expect(heard("client")).toContain('"message":"no"');
  });
});

describe("where all only watch", () => {
  test("what peers could read in two ways passes, with a note", async () => {
    const { client, server, heard, events } = await stageRules(
      rules(`- id: questions
  conditions: [{ method_equals: elicitation/create }]
  actions: [{ block: "no" }]`),
      { observe: true },
    );
    await client(call(1, "a"));
    await server(result(1, { InputRequests: {} }));
    expect(heard("client")).toBe(result(1, { InputRequests: {} }));
    expect(JSON.stringify(events.at(-1))).toContain("would:block:unclear");
  });
});

describe("a server that wants to keep us busy", () => {
  test("has no thousand questions changed one by one in a large message", async () => {
    const { client, server, heard, effects } = await stageRules(
      rules(`- id: cap
  conditions: [{ method_equals: sampling/createMessage }]
  actions: [{ set_param: { field: maxTokens, value: 100 } }]`),
    );
    await client(call(1, "a"));
    const asked = Array.from({ length: 30 }, (_, nth) => [`k${nth}`, { method: "sampling/createMessage", params: {} }]);
    const inputRequests = Object.fromEntries(asked) as object;
    await server(result(1, { resultType: "input_required", inputRequests, padding: "a".repeat(4_000_000) }));
    expect(heard("client")).toContain('"data":{"rule":"cap","action":"block"}');
    expect(effects.said.join()).toContain("too large to be changed this many times");
    await client(call(2, "a"));
    await server(result(2, { resultType: "input_required", inputRequests }));
    expect(heard("client").match(/"maxTokens":100/g)).toHaveLength(30);
  });
});

describe("a client that invents keys", () => {
  test("does not get rid of a limit that it has used up", async () => {
    let time = 0;
    const now = (): number => time;
    const limits = createMemoryLimits({ maxKeys: 10, reservedKeys: 2, maxMoments: 100, now });
    const state = { ...createMemoryState({ now }), limits };
    const { client, heard, effects } = await stageRules(
      rules(`- id: once
  conditions: [{ method_equals: tools/call }]
  actions: [{ rate_limit: { key: "\${param.arguments.user}", limit: 1, window: 1m } }]`),
      { state },
    );
    await client(call(1, "a", { user: "me" }));
    for (let nth = 2; nth < 40; nth++) await client(call(nth, "a", { user: `user ${nth}` }));
    expect(heard("server").split("\n")).toHaveLength(11);
    heard("client");
    await client(call(99, "a", { user: "me" }));
    expect(heard("client")).toContain("Rate limit exceeded");
    expect(effects.said.join()).toContain("too many different keys are counted at once");
    time = 60_000;
    await client(call(100, "a", { user: "me" }));
    expect(heard("server")).toContain('"id":100');
  });
});
