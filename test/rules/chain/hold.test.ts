import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { HoldSetting } from "../../../src/rules/chain/hold.ts";
import type { Step } from "../../../src/rules/chain/step.ts";
import { createHoldBook } from "../../../src/store/holds.ts";
import { call, line, result, type RuleOptions, rules, stageRules } from "../../support/rules.ts";

/** A step that holds calls of a tool, or the answers to them. */
function holding(tool: string, changes: Partial<HoldSetting> = {}, moment: "said" | "answered" = "said"): Step {
  const hold = { ask: "May it?", timeoutMs: 60_000, atDeadline: "deny", ...changes } as const;
  return {
    name: `interceptor:ask-${tool}`,
    concerns: (when, method) => when === moment && method === "tools/call",
    intercept: ({ view }) => (view.tool === tool ? { hold } : null),
  };
}

const NO_RULES = "interceptor: {}\n";

async function staged(steps: readonly Step[], policy = NO_RULES, options: RuleOptions = {}) {
  const holds = createHoldBook({ now: () => 5000, maxHeldInSession: 2 });
  const stage = await stageRules(policy, { steps, holds, ...options });
  return { ...stage, holds: options.holds ?? holds };
}

const ALLOW = { do: "allow" } as const;
const refusal = (id: number, message: string, rule = "ask-sql"): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32001,"message":"${message}","data":{"rule":"${rule}","action":"hold"}}}\n`;

describe("a message that is held", () => {
  test("is in the book with its bytes, and others go on around it", async () => {
    const { client, heard, holds, session } = await staged([holding("sql")]);
    await client(call(1, "sql", { text: "DROP" }), call(2, "other"));
    expect(heard("server")).toBe(call(2, "other"));
    const [{ message, id, ...held }] = holds.list();
    expect(`${message.toString()}\n`).toBe(call(1, "sql", { text: "DROP" }));
    expect(held).toEqual({
      server: "test",
      session: session.id,
      identity: null,
      client: null,
      direction: "up",
      method: "tools/call",
      tool: "sql",
      rule: "ask-sql",
      ask: "May it?",
      atDeadline: "deny",
      since: 5000,
      deadline: 65_000,
    });
    expect(holds.decide(id, ALLOW, "jo")).toBe(true);
    await client();
    expect(heard("server")).toBe(call(1, "sql", { text: "DROP" }));
    expect(heard("client")).toBe("");
  });

  test("leaves with the very bytes that came, where a person allows it", async () => {
    const odd = '{ "method":"tools/call" ,"id":2,"params":{"name":"sql","n":1.0},"jsonrpc":"2.0"}\n';
    const { client, heard, holds } = await staged([holding("sql")]);
    await client(odd);
    holds.decide(holds.list()[0].id, ALLOW, "jo");
    await client();
    expect(heard("server")).toBe(odd);
  });

  test("is refused with the reason that a person gives, or without one", async () => {
    const { client, heard, holds } = await staged([holding("sql")]);
    await client(call(1, "sql"));
    holds.decide(holds.list()[0].id, { do: "deny", reason: "not\u202e today" }, "jo");
    await client(call(2, "sql"));
    holds.decide(holds.list()[0].id, { do: "deny", reason: null }, "jo");
    await client();
    expect(heard("client")).toBe(refusal(1, "not\\\\u202e today") + refusal(2, "Blocked by policy"));
    expect(heard("server")).toBe("");
  });

  test("may be an answer", async () => {
    const { client, server, heard, holds } = await staged([holding("sql", {}, "answered")]);
    await client(call(1, "sql"));
    await server(result(1, { rows: 3 }));
    expect(heard("client")).toBe("");
    expect(holds.list()[0]).toMatchObject({ direction: "down", method: "tools/call", tool: "sql" });
    holds.decide(holds.list()[0].id, ALLOW, "jo");
    await client();
    expect(heard("client")).toBe(result(1, { rows: 3 }));
  });

  test("is only noted where all rules only watch", async () => {
    const { client, heard, holds, events } = await staged([holding("sql")], NO_RULES, { observe: true });
    await client(call(1, "sql"));
    expect(heard("server")).toBe(call(1, "sql"));
    expect(holds.list()).toEqual([]);
    expect(events.map(({ note }) => note)).toEqual(["would:hold:ask-sql"]);
  });
});

describe("at its deadline", () => {
  test("a message is refused, or passes where that is asked for", async () => {
    const timers: (() => void)[] = [];
    const book = createHoldBook({
      now: () => 0,
      after(_, fire) {
        timers.push(fire);
        return () => {};
      },
    });
    const steps = [holding("sql"), holding("mail", { atDeadline: "allow" })];
    const { client, heard, holds } = await staged(steps, NO_RULES, { holds: book });
    await client(call(1, "sql"), call(2, "mail"));
    expect(heard("server")).toBe("");
    for (const fire of timers) fire();
    await client();
    expect(heard("client")).toBe(refusal(1, "Nobody decided in time"));
    expect(heard("server")).toBe(call(2, "mail"));
    expect(holds.list()).toEqual([]);
  });

  test("the chain's own time has not run meanwhile", async () => {
    const policy = rules(
      `- id: later
  conditions: [{ method_equals: tools/call }]
  actions: [{ webhook: { url: "https://example.com/", wait: true } }]`,
      "{ timeout: 40ms }",
    );
    const asked: string[] = [];
    const { client, heard, holds, wait } = await staged([holding("sql")], policy, {
      async hook() {
        asked.push("asked");
        await delay(10);
        return { body: Buffer.from('{"action":"allow"}') };
      },
    });
    await client(call(1, "sql", { n: 1 }));
    await delay(20);
    await client();
    wait(3_600_000); // a person takes an hour
    const changed = Buffer.from(call(1, "sql", { n: 2 }).trimEnd());
    expect(holds.decide(holds.list()[0].id, { do: "change", message: changed }, "jo")).toBe(true);
    await delay(25);
    await client();
    expect(heard("server")).toBe(call(1, "sql", { n: 2 }));
    expect(asked).toHaveLength(2); // the webhook has judged what the person made of it, too
  });
});

describe("what a person makes of a message", () => {
  const POLICY = rules(`- id: no-drop
  conditions: [{ param_matches: { field: arguments.text, pattern: DROP } }]
  actions: [{ block: "no DROP" }]
- id: often
  conditions: [{ tool_matches: ^sql$ }]
  actions: [{ rate_limit: { key: all, limit: 1, window: 1m } }]`);

  test("goes on in its place, changed where it differs, and charged once", async () => {
    const { client, heard, holds } = await staged([holding("sql")], POLICY);
    await client('{"jsonrpc":"2.0" ,"id":1,"method":"tools/call","params":{"name":"sql","arguments":{"text":"a"}}}\n');
    const edited = Buffer.from('{"params":{"name":"sql","arguments":{"text":"b"}}}');
    expect(holds.decide(holds.list()[0].id, { do: "change", message: edited }, "jo")).toBe(true);
    await client();
    expect(heard("server")).toBe(
      '{"jsonrpc":"2.0" ,"id":1,"method":"tools/call","params":{"name":"sql","arguments":{"text":"b"}}}\n',
    );
    expect(holds.list()).toEqual([]);
  });

  test("is judged by the rules that had let the message pass before it was held", async () => {
    const { client, heard, holds } = await staged([holding("sql")], POLICY);
    await client(call(1, "sql", { text: "a" }));
    const edited = Buffer.from(call(1, "sql", { text: "DROP" }));
    holds.decide(holds.list()[0].id, { do: "change", message: edited }, "jo");
    await client();
    expect(heard("server")).toBe("");
    expect(heard("client")).toContain('"no DROP"');
  });

  test("is judged by the tool filter", async () => {
    const { client, server, heard, holds } = await staged([holding("sql")], 'tools: { deny: ["^delete_"] }\n');
    await client(line({ id: 0, method: "tools/list" }));
    await server(result(0, { tools: ["sql", "delete_all"].map((name) => ({ name, inputSchema: {} })) }));
    heard("client");
    heard("server");
    await client(call(1, "sql"));
    holds.decide(holds.list()[0].id, { do: "change", message: Buffer.from(call(1, "delete_all")) }, "jo");
    await client();
    expect(heard("server")).toBe("");
    expect(heard("client")).toContain("Tool not found: delete_all");
  });

  test("is held again by others, and not by the one that held it", async () => {
    const { client, heard, holds } = await staged([holding("first"), holding("second"), holding("first")]);
    await client(call(1, "first"));
    holds.decide(holds.list()[0].id, { do: "change", message: Buffer.from(call(1, "second")) }, "jo");
    await client();
    expect(holds.list().map(({ rule }) => rule)).toEqual(["ask-second"]);
    holds.decide(holds.list()[0].id, { do: "change", message: Buffer.from(call(1, "first")) }, "jo");
    await client();
    expect(holds.list().map(({ rule }) => rule)).toEqual(["ask-first"]);
    holds.decide(holds.list()[0].id, ALLOW, "jo");
    await client();
    expect(heard("server")).toBe(call(1, "first"));
  });

  test.each([
    ["not JSON", "{"],
    ["with a key twice", '{"params":{"a":1,"a":2}}'],
    ["not an object", "[]"],
    ["another request", '{"id":2}'],
    ["another method", '{"method":"tools/list"}'],
    ["an answer", '{"result":{}}'],
  ])("is not taken where it cannot be: %s", async (_, text) => {
    const { client, heard, holds } = await staged([holding("sql")]);
    await client(call(1, "sql"));
    const [{ id }] = holds.list();
    expect(holds.check(id, Buffer.from(text))).not.toBeNull();
    expect(holds.decide(id, { do: "change", message: Buffer.from(text) }, "jo")).toBe(false);
    await client();
    expect([heard("client"), heard("server"), holds.list().length]).toEqual(["", "", 1]);
  });
});

describe("nothing is held any more", () => {
  test("when the client cancels", async () => {
    const { client, heard, holds } = await staged([holding("sql")]);
    await client(call(1, "sql"), line({ method: "notifications/cancelled", params: { requestId: 1 } }));
    expect(holds.list()).toEqual([]);
    await client();
    expect([heard("client"), heard("server")].join("")).not.toContain("sql");
    await client(call(1, "sql")); // its id is free again
    expect(holds.list()).toHaveLength(1);
  });

  test("when the conversation ends, and the client is answered by who ends it", async () => {
    const { client, passage, heard, holds } = await staged([holding("sql")]);
    await client(call(1, "sql"));
    const answers = passage.giveUp("up", { code: -32000, message: "Connection closed" });
    expect(answers.map(String).join()).toContain('"id":1,"error":{"code":-32000');
    await client();
    expect(holds.list()).toEqual([]);
    expect([heard("client"), heard("server")]).toEqual(["", ""]);
  });
});

test("more than may be held are refused at once, whatever would become of them at their deadline", async () => {
  const { client, heard, holds } = await staged([holding("sql", { atDeadline: "allow" })]);
  await client(call(1, "sql"), call(2, "sql"), call(3, "sql"));
  expect(heard("client")).toBe(refusal(3, "Too many messages are held"));
  expect(holds.list()).toHaveLength(2);
});

test("a step that took too long before does not release what is held after it", async () => {
  const slow: Step = {
    name: "interceptor:slow",
    concerns: () => true,
    intercept: () => new Promise(() => {}),
  };
  const { client, holds } = await staged(
    [slow, holding("sql")],
    "interceptor: { chain: { timeout: 10ms, on_error: allow } }\n",
  );
  await client(call(1, "sql"));
  await delay(30);
  expect(holds.list()).toHaveLength(1);
});
