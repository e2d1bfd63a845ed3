import { EventEmitter, once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createMemoryState } from "../../../src/store/state.ts";
import { whole } from "../../../src/message/message.ts";
import { LINES } from "../../../src/session/exchange.ts";
import { createLateState, createWire } from "../../support/late-store.ts";
import { call, line, result, rules, stageRules } from "../../support/rules.ts";

const RULES = `- id: often
  conditions: [{ tool_matches: ^often$ }]
  actions: [{ rate_limit: { key: all, limit: 5, window: 1m } }]
- id: keep
  conditions: [{ tool_matches: ^keep$ }]
  actions: [{ cache: { key: "\${tool}", ttl: 5m } }]
- id: no
  conditions: [{ tool_matches: ^no$ }]
  actions: [{ block: "not this one" }]
- id: seen
  conditions: [{ method_equals: tools/call }]
  actions: [{ set_state: { key: seen, value: true } }]
- id: answers
  conditions: [{ result_exists: never }]
  actions: [{ block: "no" }]`;

const now = (): number => 0;
const far = () => {
  const wire = createWire({ random: Math.random, ordered: true });
  return { wire, state: createLateState(wire, now) };
};

async function until(holds: () => boolean): Promise<void> {
  for (let nth = 0; nth < 1000 && !holds(); nth++) await delay(1);
}

/** What a policy does with messages where its store is out of reach. */
async function playedWithout(chain: string, ...messages: string[]) {
  const { wire, state } = far();
  wire.cut();
  const stage = await stageRules(rules(RULES, chain), { state });
  await stage.client(...messages);
  await until(() => wire.open === 0);
  await stage.client();
  return { client: stage.heard("client"), server: stage.heard("server"), said: stage.effects.said };
}

/** A store that answers when it is told to. */
function slow() {
  const { wire, state } = far();
  const gate = new EventEmitter();
  const answered = once(gate, "answer");
  const load = async (scope: string) => {
    await answered;
    return state.sessions.load(scope);
  };
  return { wire, answer: () => gate.emit("answer"), state: { ...state, sessions: { load, count: () => {} } } };
}

test("no promise is made where the store answers now", async () => {
  const { passage } = await stageRules(rules(RULES), { state: createMemoryState({ now }) });
  const said = (text: string, direction: "up" | "down"): unknown =>
    passage.pass(whole(Buffer.from(text.trimEnd())), direction, LINES);
  for (let nth = 1; nth < 10; nth++)
    for (const tool of ["often", "keep", "no", "other"]) {
      expect(said(call(`${tool} ${nth}`, tool), "up")).not.toBeInstanceOf(Promise);
      expect(said(result(`${tool} ${nth}`, { taskId: "t", requestState: "s" }), "down")).not.toBeInstanceOf(Promise);
    }
  expect(said(line({ method: "notifications/x" }), "up")).not.toBeInstanceOf(Promise);
});

test("of twenty calls at once, no more pass a limit than it allows, though its store answers later", async () => {
  const { wire, state } = far();
  const { client, heard } = await stageRules(rules(RULES), { state });
  await client(...Array.from({ length: 20 }, (_, nth) => call(nth, "often")));
  await until(() => wire.open === 0);
  await client();
  expect(heard("server").trimEnd().split("\n")).toHaveLength(5);
  expect(heard("client").match(/Rate limit exceeded/g)).toHaveLength(15);
});

describe("a store that cannot be reached", () => {
  test("lets nothing pass, not even what no rule is about, and says so", async () => {
    const { client, server, said } = await playedWithout("", call(1, "x"), line({ id: 2, method: "ping" }));
    expect(server).toBe("");
    expect(client.trimEnd().split("\n").sort()).toEqual(
      [1, 2].map(
        (id) =>
          `{"jsonrpc":"2.0","id":${id},"error":{"code":-32001,"message":"Blocked by policy","data":{"rule":"store","action":"block"}}}`,
      ),
    );
    expect(said).toContain("warn chain:store the policy could not be applied: the store cannot be reached");
  });

  test("lets pass what the rules let pass that do not need it, where that is asked for", async () => {
    const { client, server } = await playedWithout(
      "{ on_error: allow }",
      call(1, "x"),
      call(2, "no"),
      call(3, "often"),
    );
    expect(server.trimEnd().split("\n").sort()).toEqual([call(1, "x"), call(3, "often")].map((text) => text.trimEnd()));
    expect(client).toContain("not this one");
  });

  test("is only noted where all rules only watch", async () => {
    const { wire, state } = far();
    wire.cut();
    const { client, heard, events } = await stageRules(rules(RULES), { state, observe: true });
    await client(call(1, "x"));
    await until(() => wire.open === 0);
    await client();
    expect(heard("server")).toBe(call(1, "x"));
    expect(JSON.stringify(events)).toContain("would:block:store");
  });
});

describe("a message that waits for the store", () => {
  test("waits no longer than the chain may take", async () => {
    const { client, heard, effects } = await stageRules(rules(RULES, "{ timeout: 20ms }"), { state: slow().state });
    await client(call(1, "x"));
    expect(heard("client")).toBe("");
    await until(() => effects.said.length > 0);
    await client();
    expect(heard("client")).toContain('"data":{"rule":"store","action":"block"}');
    expect(effects.said.join()).toContain("it took longer than 20 ms");
    expect(heard("server")).toBe("");
  });

  test("is done with when it is withdrawn", async () => {
    const { state, answer, wire } = slow();
    const { client, heard } = await stageRules(rules(RULES), { state });
    await client(call(1, "x"));
    await client(line({ method: "notifications/cancelled", params: { requestId: 1 } }));
    answer();
    await until(() => wire.open === 0);
    await client();
    expect([heard("client"), heard("server")]).toEqual(["", ""]);
  });

  test("takes its room like any that waits", async () => {
    const { state } = slow();
    const { client, heard } = await stageRules(rules(RULES), { state, maxParkedBytes: 40_000 });
    await client(call(1, "x"), call(2, "x"), call(3, "x"));
    expect(heard("client")).toBe(
      '{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"Too many messages are waiting to be judged"}}\n',
    );
  });
});

test("a cached answer that could not be kept is a line in the log, and the answer passes", async () => {
  const state = createMemoryState({ now });
  const { client, server, heard, effects } = await stageRules(rules(RULES), {
    state: { ...state, answers: { ...state.answers, keep: () => Promise.reject(new Error("no room")) } },
  });
  await client(call(1, "keep"));
  await server(result(1, { content: [] }));
  expect(heard("client")).toBe(result(1, { content: [] }));
  expect(effects.said).toEqual(["warn chain:store an answer was not kept: Error: no room"]);
});
