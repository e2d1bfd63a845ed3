import { EventEmitter, once } from "node:events";
import { describe, expect, test } from "vitest";
import { type BesideOptions, type Comparison, walkBeside } from "../../../src/rules/chain/beside.ts";
import { createDryServices } from "../../../src/rules/chain/dry-run.ts";
import type { Interceptor } from "../../../src/rules/interceptors/interceptor.ts";
import { whole } from "../../../src/message/message.ts";
import { LINES } from "../../../src/session/exchange.ts";
import { call, line, result, type RuleOptions, rules, stageRules } from "../../support/rules.ts";

const ALLOWING: Interceptor = { methods: ["nothing"], intercept: () => null };

/** A policy with another one beside it. */
async function staged(
  first: string,
  second: string,
  {
    first: firstOptions = {},
    second: secondOptions = {},
    beside = {},
  }: {
    first?: RuleOptions;
    second?: RuleOptions;
    beside?: Partial<BesideOptions>;
  } = {},
) {
  const main = await stageRules(first, { own: [ALLOWING], ...firstOptions });
  const shadow = await stageRules(second, { name: "shadow", own: [ALLOWING], ...secondOptions });
  const seen: Comparison[] = [];
  const troubles: string[] = [];
  let skipped = 0;
  if (main.chain === null || shadow.chain === null) throw new Error("no chain");
  const chain = walkBeside(main.chain, shadow.chain, {
    report: (comparison) => void seen.push(comparison),
    onSkipped: (messages) => void (skipped += messages),
    onTrouble: (error) => void troubles.push(String(error)),
    ...beside,
  });
  main.rulebook.current = { ...main.rulebook.current, chain };
  return {
    ...main,
    beside: shadow.effects,
    troubles,
    skipped: () => skipped,
    /** What was done and what would have been, since it was last asked. */
    compared: () => seen.splice(0).map(({ first: one, second: other }) => `${one.verdict.do} ${other.verdict.do}`),
  };
}

const NOTHING = rules("- id: none\n  conditions: [{ method_equals: never }]\n  actions: [{ block: no }]");
const BLOCK = rules("- id: no\n  conditions: [{ tool_matches: ^rm$ }]\n  actions: [{ block: no }]");

test("a second chain sees what the first one sees, and what it decides is only reported", async () => {
  const { client, server, heard, compared, events } = await staged(NOTHING, BLOCK);
  await client(call(1, "rm"), call(2, "ls"));
  expect(heard("server")).toBe(call(1, "rm") + call(2, "ls"));
  await server(result(1, {}));
  expect(heard("client")).toBe(result(1, {}));
  expect(compared()).toEqual(["pass deny", "pass pass", "pass pass"]);
  expect(JSON.stringify(events)).not.toContain('"deny"');
});

test("what the first one refuses and the second would not is reported as well", async () => {
  const { client, heard, compared } = await staged(BLOCK, NOTHING);
  await client(call(1, "rm"));
  expect(heard("server")).toBe("");
  expect(compared()).toEqual(["deny pass"]);
});

describe("what is kept for the answer", () => {
  const LOOKS = rules(`- id: look
  conditions: [{ param_equals: { field: arguments.x, value: 1 } }, { result_exists: content }]
  actions: [{ block: no }]`);

  test("is kept for each chain", async () => {
    const { client, server, heard, compared } = await staged(NOTHING, LOOKS);
    await client(call(1, "a", { x: 1 }), call(2, "a", { x: 2 }));
    await server(result(1, { content: [] }), result(2, { content: [] }));
    expect(heard("client")).toBe(result(1, { content: [] }) + result(2, { content: [] }));
    expect(compared()).toEqual(["pass pass", "pass pass", "pass deny", "pass pass"]);
  });

  test("is kept of what the second chain saw, where the first one changes the message", async () => {
    const change = rules(`- id: set
  conditions: [{ tool_matches: ^a$ }]
  actions: [{ set_param: { field: arguments.x, value: 2 } }]`);
    const { client, server, heard, compared } = await staged(change, LOOKS);
    await client(call(1, "a", { x: 1 }));
    expect(heard("server")).toBe(call(1, "a", { x: 2 }));
    await server(result(1, { content: [] }));
    expect(heard("client")).toBe(result(1, { content: [] }));
    // Without what was kept of this request nobody could tell what it asked for, and its answer would be refused.
    await client(call(2, "a", { x: 3 }));
    await server(result(2, { content: [] }));
    expect(compared()).toEqual(["change pass", "pass deny", "change pass", "pass pass"]);
  });

  test("is kept also where the second chain decides when the request is long on its way", async () => {
    const asks = rules(`- id: ask
  conditions: [{ method_equals: tools/call }]
  actions: [{ webhook: { url: "https://example.com/", wait: true } }]
- id: look
  conditions: [{ param_equals: { field: arguments.x, value: 1 } }, { result_exists: content }]
  actions: [{ block: no }]`);
    const gate = new EventEmitter();
    const answer = () => gate.emit("answer");
    const hook = async () => {
      await once(gate, "answer");
      return { body: Buffer.from('{"action":"allow"}') };
    };
    const { client, server, heard, compared, session } = await staged(NOTHING, asks, { second: { hook } });
    await client(call(1, "a", { x: 1 }));
    expect(session.calls.up.keptBeside()).toBe(0);
    await server(result(1, { content: [] }));
    expect(heard("client")).toBe(result(1, { content: [] }));
    expect(compared()).toEqual([]);
    answer();
    await client();
    expect(compared()).toEqual(["pass pass", "pass deny"]);
    await client(call(2, "a", { x: 1 }));
    answer();
    await client();
    expect(session.calls.up.keptBeside()).toBeGreaterThan(0);
    expect(session.calls.up.keptBytes()).toBe(0);
    await server(result(2, {}));
    expect(session.calls.up.keptBeside()).toBe(0);
  });
});

test("each chain has a state of its own", async () => {
  const once = rules(`- id: once
  conditions: [{ method_equals: tools/call }]
  actions: [{ rate_limit: { key: all, limit: 2, window: 1m } }, { set_state: { key: seen, value: true } }]`);
  const other = rules(`- id: once
  conditions: [{ method_equals: tools/call }]
  actions: [{ rate_limit: { key: all, limit: 1, window: 1m } }]
- id: seen
  conditions: [{ state_equals: { key: seen, value: true } }]
  actions: [{ block: "it was noted elsewhere" }]`);
  const { client, heard, compared } = await staged(once, other);
  await client(call(1, "a"), call(2, "a"), call(3, "a"));
  expect(heard("server")).toBe(call(1, "a") + call(2, "a"));
  expect(compared()).toEqual(["pass pass", "pass deny", "deny deny"]);
});

describe("in the world", () => {
  const BUSY = rules(`- id: busy
  conditions: [{ method_equals: tools/call }]
  actions:
    - log: { message: seen }
    - metric: { name: m }
    - fork: { copies: 2 }
    - delay: 1h
    - webhook: { url: "https://example.com/tell" }
    - webhook: { url: "https://example.com/ask", wait: true }
    - run_script: { path: ./x.sh }`);

  test("a dry chain does nothing", async () => {
    const skipped: string[] = [];
    const dry = () => createDryServices({ now: () => 0, onSkipped: (what) => void skipped.push(what) });
    const { client, heard, beside, compared } = await staged(NOTHING, BUSY, { second: { services: dry } });
    await client(call(1, "a"));
    expect(heard("server")).toBe(call(1, "a"));
    expect(compared()).toEqual(["pass pass"]);
    expect(beside).toEqual({ said: [], counted: [], metrics: [], told: [], forked: [], slept: [] });
    expect(skipped).toEqual([
      "waiting 3600000 ms",
      "telling https://example.com",
      "asking https://example.com",
      expect.stringContaining("running"),
    ]);
  });

  test("a chain does what it is allowed to, and never sends copies: its messages do not go anywhere", async () => {
    const { client, beside, compared } = await staged(NOTHING, BUSY, {
      second: {
        hook: () => ({ body: Buffer.from('{"action":"block"}') }),
        services: (real) => ({ ...createDryServices({ now: () => 0 }), ask: real.ask, fork: real.fork }),
      },
    });
    await client(call(1, "a"));
    expect(compared()).toEqual(["pass deny"]);
    expect(beside.forked).toEqual([]);
  });
});

describe("the first chain", () => {
  const SLOW = rules(`- id: slow
  conditions: [{ method_equals: tools/call }]
  actions: [{ webhook: { url: "https://example.com/", wait: true } }]`);

  test("does not wait for the second, and has done its work before that begins", async () => {
    const order: string[] = [];
    const noting = (name: string): Interceptor => ({ intercept: () => void order.push(name) });
    const { passage } = await staged("interceptor: {}\n", SLOW, {
      first: { own: [noting("first")] },
      second: { own: [noting("second")], hook: () => new Promise(() => {}) },
    });
    const outcome = passage.pass(whole(Buffer.from(call(1, "a").trimEnd())), "up", LINES);
    order.push("done");
    expect(outcome).not.toBeInstanceOf(Promise);
    expect(order).toEqual(["first", "done"]);
  });

  test("is not harmed where the second fails, or whoever is told", async () => {
    const { client, heard, troubles } = await staged(NOTHING, NOTHING, {
      beside: {
        report() {
          throw new Error("nobody listens");
        },
      },
    });
    const main = await staged(NOTHING, NOTHING);
    await client(call(1, "a"));
    expect(heard("server")).toBe(call(1, "a"));
    expect(troubles).toEqual(["Error: nobody listens"]);
    expect(main.troubles).toEqual([]);
  });

  test("has what waits in the second given up when its message is withdrawn", async () => {
    const signals: AbortSignal[] = [];
    const { client, compared } = await staged(SLOW, SLOW, {
      first: { hook: () => new Promise(() => {}) },
      second: {
        services: (real) => ({
          ...real,
          ask(_, __, signal) {
            signals.push(signal);
            return new Promise(() => {});
          },
        }),
      },
    });
    await client(call(1, "a"));
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await client(line({ method: "notifications/cancelled", params: { requestId: 1 } }));
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(compared()).toEqual([]);
  });
});

test("messages that the second chain is too slow for are skipped, with their answers, and counted", async () => {
  const jobs: (() => void)[] = [];
  const { client, server, compared, skipped } = await staged(NOTHING, BLOCK, {
    beside: { maxWaiting: 2, defer: (go) => void jobs.push(go) },
  });
  await client(call(1, "rm"), call(2, "rm"), call(3, "rm"));
  for (const job of jobs.splice(0)) job();
  expect([compared(), skipped()]).toEqual([["pass deny", "pass deny"], 1]);
  await server(result(1, {}), result(3, {}));
  for (const job of jobs.splice(0)) job();
  expect([compared(), skipped()]).toEqual([["pass pass"], 1]);
});

test("the bytes that wait for the second chain have a bound", async () => {
  const { client, compared, skipped } = await staged(NOTHING, BLOCK, { beside: { maxWaitingBytes: 1000 } });
  await client(call(1, "a", { text: "x".repeat(2000) }), call(2, "a"));
  expect([compared(), skipped()]).toEqual([["pass pass"], 1]);
});
