import { expect, test, vi } from "vitest";
import type { PolicyStamp } from "../../src/record/event.ts";
import { OPEN, stage } from "../support/play.ts";
import { call, line, result, stageRules } from "../support/rules.ts";

const read = (uri: string): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri } })}\n`;

test.each([
  ["x".repeat(4096), { tool: "x".repeat(4096), cut: null }],
  ["x".repeat(4097), { tool: "x".repeat(4096), cut: 4097 }],
  ["\u{1F680}".repeat(5000), { tool: "\u{1F680}".repeat(2048), cut: 10_000 }],
])("of a long address the event has the start, and says how long it was", async (uri, expected) => {
  const { client, events } = stage(OPEN);
  await client(read(uri));
  expect(events).toMatchObject([expected]);
});

const EDIT = `interceptor:
  rules:
    - id: shorten
      conditions: [{ method_equals: tools/call }, { direction: up }]
      actions: [{ remove_param: arguments.padding }]
      metadata: { owner: ops }
    - id: answer
      conditions: [{ result_exists: secret }]
      actions: [{ set_result: { field: secret, value: gone } }]
    - id: quiet
      conditions: [{ method_equals: notifications/progress }]
      actions: [{ block: "no progress" }]
`;

test("of a message that a rule changed the event has the size as it came and the size as it left", async () => {
  const { client, server, heard, events } = await stageRules(EDIT);
  const asked = call(1, "echo", { padding: "x".repeat(100) });
  await client(asked);
  const answered = result(1, { secret: "y".repeat(50) });
  await server(answered);
  const up = heard("server");
  const down = heard("client");
  expect(up.length).toBeLessThan(asked.length);
  expect(down.length).not.toBe(answered.length);
  expect(events.map(({ bytes, sent, verdict, rule }) => ({ bytes, sent, verdict, rule }))).toEqual([
    { bytes: asked.length - 1, sent: up.length - 1, verdict: "change", rule: "rule:shorten" },
    { bytes: answered.length - 1, sent: down.length - 1, verdict: "change", rule: "rule:answer" },
  ]);
});

test("the event says who it was, by the handshake or by the request itself", async () => {
  const { client, events, session } = await stageRules("", {
    owner: { identity: "alice", scope: null, audience: null },
  });
  const clientInfo = { name: "new", version: "2" };
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": clientInfo,
  };
  await client(call(1, "echo", {}, { _meta: meta }));
  session.mcpSession = "m-1";
  await client(line({ id: 2, method: "initialize", params: { clientInfo: { name: "old" }, capabilities: {} } }));
  await client(call(3, "echo"));
  expect(events.map(({ identity, client: who, mcpSession }) => [identity, who, mcpSession])).toEqual([
    ["alice", clientInfo, null],
    ["alice", { name: "old", version: null }, "m-1"],
    ["alice", { name: "old", version: null }, "m-1"],
  ]);
});

test("the event says what the sender was told, or would have been", async () => {
  const { client, events } = await stageRules(`tools: { deny: [^delete_] }\n${EDIT}`);
  await client(line({ method: "notifications/progress", params: {} }));
  await client('{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}\n');
  expect(events.map(({ verdict, rule, reason }) => [verdict, rule, reason])).toEqual([
    ["drop", "rule:quiet", "no progress"],
    ["deny", "strict:duplicate-key", expect.stringMatching(/^Invalid request: /)],
  ]);
});

test("a reason is cut where it is long", async () => {
  const { client, events } = await stageRules(EDIT.replace("no progress", "n".repeat(2000)));
  await client(line({ method: "notifications/progress", params: {} }));
  expect(events[0].reason).toBe(`${"n".repeat(500)}…`);
});

const stamped = (version: string): PolicyStamp => ({
  version,
  metadata: (rule) => (rule === "rule:slow" ? { version } : null),
});

test("a message has the version of the policy that judged it, also where another one holds by then", async () => {
  let answer: (() => void) | undefined;
  const asked = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const slow = `interceptor:
  rules:
    - id: slow
      conditions: [{ method_equals: tools/call }]
      actions: [{ webhook: { url: "https://example.com", wait: true } }, { block: "no" }]
`;
  const { client, events, rulebook } = await stageRules(slow, {
    hook: async () => {
      await asked;
      return { body: Buffer.from('{"action":"allow"}') };
    },
  });
  rulebook.current = { ...rulebook.current, stamp: stamped("one") };
  await client(call(1, "echo"));
  rulebook.current = { ...rulebook.current, chain: null, stamp: stamped("two") };
  await client(line({ id: 2, method: "ping" }));
  answer?.();
  await client("");
  await vi.waitFor(() => expect(events).toHaveLength(2));
  expect(events.map(({ id, policy, metadata }) => [id, policy, metadata])).toEqual([
    ["2", "two", null],
    ["1", "one", { version: "one" }],
  ]);
});
