import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { ToolFilter } from "../../src/policy/tool-filter.ts";
import { Unaudited } from "../../src/record/event.ts";
import { createWitness, type Witness } from "../../src/record/witness.ts";
import { createLearner } from "../../src/relay/learn.ts";
import { createPassage } from "../../src/relay/passage.ts";
import { LINES } from "../../src/session/exchange.ts";
import { createSession } from "../../src/session/session.ts";
import { whole } from "../../src/message/message.ts";
import { denying, OPEN, stage } from "../support/play.ts";

const HELLO = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n';
const hello = (capabilities: string): string =>
  `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":${capabilities}}}\n`;
const call = (name: string, id = 2): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}"}}\n`;
const list = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}\n`;
const internal = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":"Internal proxy error"}}\n`;
const PING = '{"jsonrpc":"2.0","id":"after","method":"ping"}\n';
const PONG = '{"jsonrpc":"2.0","id":"after","result":{}}\n';

describe("a server without tools", () => {
  test("has no tool to call, and an empty list", async () => {
    const { client, server, heard } = stage(denying("^x$"));
    await client(HELLO);
    await server(hello('{"prompts":{}}'));
    heard("client");
    heard("server");
    await client(list(1), call("a"));
    expect(heard("server")).toBe("");
    expect(heard("client")).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}\n' +
        '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Tool not found: a"}}\n',
    );
  });

  test("is asked for its list itself where nothing is filtered", async () => {
    const { client, server, heard } = stage(OPEN);
    await client(HELLO);
    await server(hello('{"prompts":{}}'));
    heard("server");
    await client(list(1));
    expect(heard("server")).toBe(list(1));
  });

  test("may say so by not knowing the method", async () => {
    const { client, server, heard } = stage(denying("^x$"));
    await client(call("a"));
    const { id } = JSON.parse(heard("server")) as { id: string };
    await server(`{"jsonrpc":"2.0","id":"${id}","error":{"code":-32601,"message":"Method not found"}}\n`);
    expect(heard("client")).toContain("Tool not found: a");
    expect(heard("server")).toBe("");
  });

  test("may get some later", async () => {
    const { client, server, heard } = stage(denying("^x$"));
    await client(HELLO);
    await server(hello("{}"), '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n');
    heard("server");
    await client(list(1));
    expect(heard("server")).toBe(list(1));
  });
});

describe("a call whose list cannot be had is not forwarded, and is told nothing more than that", () => {
  test.each([
    ["an error", '"error":{"code":-32000,"message":"secret detail"}'],
    ["no list", '"result":{"tools":{"a":1}}'],
    ["a list that can be read in two ways", '"result":{"tools":[],"Tools":[{"name":"a","inputSchema":{}}]}'],
    ["a broken answer", '"result":{"tools":[]},"error":{}'],
  ])("because the server answers with %s", async (_what, body) => {
    const { client, server, heard, troubles } = stage(denying("^x$"));
    await client(call("a"));
    const { id } = JSON.parse(heard("server")) as { id: string };
    await server(`{"jsonrpc":"2.0","id":"${id}",${body}}\n`);
    expect(heard("client")).toBe(internal(2));
    expect(heard("server")).toBe("");
    expect(troubles).toContain("tools:no-list");
    // The next call asks again.
    await client(call("a", 3));
    expect(heard("server")).toContain("tools/list");
  });

  test("because the server does not answer in time", async () => {
    const { client, server, heard } = stage(denying("^x$"), { toolListMs: 30 });
    await client(call("a"), PING);
    const { id } = JSON.parse(heard("server").split("\n")[0]) as { id: string };
    await delay(60);
    expect(heard("client")).toBe(internal(2));
    // What comes too late is for nobody.
    await server(`{"jsonrpc":"2.0","id":"${id}","result":{"tools":[{"name":"a","inputSchema":{}}]}}\n`, PONG);
    expect(heard("client")).toBe(PONG);
    expect(heard("server")).toBe("");
  });

  test("because it is too large to be read, and that is told at once", async () => {
    const { client, server, heard } = stage(denying("^x$"), { toolListMs: 60_000, maxMessageBytes: 1000 });
    await client(call("a"));
    const { id } = JSON.parse(heard("server")) as { id: string };
    await server(`{"jsonrpc":"2.0","id":"${id}","result":{"tools":[],"_meta":{"t":"${"x".repeat(1000)}"}}}\n`);
    expect(heard("client")).toBe(internal(2));
  });

  test("because it has no end", async () => {
    const { client, server, heard } = stage(denying("^x$"), { toolListMs: 60_000 });
    await client(call("a"));
    let asked = 0;
    for (; asked < 600; asked++) {
      const line = heard("server");
      if (line === "") break;
      const { id } = JSON.parse(line) as { id: string };
      await server(`{"jsonrpc":"2.0","id":"${id}","result":{"tools":[],"nextCursor":"again"}}\n`);
    }
    expect(asked).toBeLessThanOrEqual(500);
    expect(heard("client")).toBe(internal(2));
  });

  test("because it is more than we keep: it is not shown either, and not asked for again", async () => {
    const { client, server, heard } = stage(denying("^x$"));
    const tools = Array.from({ length: 10_001 }, (_, index) => `{"name":"a${index}","inputSchema":{}}`).join(",");
    await client(call("a1"));
    const { id } = JSON.parse(heard("server")) as { id: string };
    await server(`{"jsonrpc":"2.0","id":"${id}","result":{"tools":[${tools}]}}\n`);
    expect(heard("client")).toBe(internal(2));
    await client(call("a1", 3));
    expect(heard("client")).toBe(internal(3));
    expect(heard("server")).toBe("");
    await client(list(4));
    await server(`{"jsonrpc":"2.0","id":4,"result":{"tools":[${tools}]}}\n`);
    expect(heard("client")).toBe(internal(4));
    // Until the server says something else.
    await server('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n');
    heard("server");
    await client(call("a1", 5));
    expect(heard("server")).toContain("tools/list");
  });

  test("because too much waits already", async () => {
    const { client, heard } = stage(denying("^x$"));
    const large = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b","arguments":{"t":"${"x".repeat(1024 * 1024)}"}}}\n`;
    await client(call("a"), large, PING);
    expect(heard("client")).toBe(internal(3));
    expect(heard("server")).toContain(PING);
  });
});

describe("when judging itself goes wrong", () => {
  const broken: ToolFilter = {
    isFirstTime: false,
    notFound: "contract",
    isStrict: false,
    seen: { version: 0, hidden: new Set(), shown: new Set() },
    hiddenAmong() {
      throw new Error("a secret about the policy");
    },
    strangeAmong: () => new Set(),
    hiddenBy() {
      throw new Error("a secret about the policy");
    },
    view() {
      throw new Error("a secret about the policy");
    },
  };

  test("a call is not forwarded, its sender is told, and the next message works", async () => {
    const { client, server, heard, troubles } = stage({ tools: broken });
    await client(call("a"), PING);
    expect(heard("server")).toBe(PING);
    expect(heard("client")).toBe(internal(2));
    expect(troubles).toContain("internal");
    await server(PONG);
    expect(heard("client")).toBe(PONG);
  });

  test("a list is not shown, whoever waits is told once, and the next message works", async () => {
    const failing = { ...broken, view: denying("^x$").tools?.view ?? broken.view };
    const { client, server, heard } = stage({ tools: failing });
    const answer = '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"denied_tool","inputSchema":{}}]}}\n';
    await client(list(1));
    await server(answer, answer);
    expect(heard("client")).toBe(internal(1));
    await client(PING);
    await server(PONG);
    expect(heard("client")).toBe(PONG);
  });

  test("an id is free again after its request was refused so", async () => {
    const { client, heard } = stage({ tools: broken });
    await client(call("a"), '{"jsonrpc":"2.0","id":2,"method":"ping"}\n');
    expect(heard("server")).toBe('{"jsonrpc":"2.0","id":2,"method":"ping"}\n');
  });

  describe("because what was decided cannot be recorded", () => {
    const ping = whole(Buffer.from(PING.trimEnd()));
    const pong = whole(Buffer.from(PONG.trimEnd()));
    const fault = Buffer.from(
      '{"jsonrpc":"2.0","id":"after","error":{"code":-32603,"message":"Internal proxy error"}}',
    );

    test("a request does not pass, and its id is free again", async () => {
      const { failing, sound } = twoPassages();
      expect(await failing.pass(ping, "up", LINES)).toEqual({ onward: "nothing", back: fault });
      expect(await sound.pass(ping, "up", LINES)).toEqual({ onward: "untouched", back: null });
    });

    test("an answer does not pass, and whoever waits is told", async () => {
      const { failing, sound } = twoPassages();
      await sound.pass(ping, "up", LINES);
      expect(await failing.pass(pong, "down", LINES)).toEqual({ onward: fault, back: null });
    });
  });
});

/** Two passages of one conversation: in one of them nothing can be recorded. */
function twoPassages() {
  const session = createSession({ maxOpenCalls: 10, learnsTools: () => false, say: () => {}, now });
  const learner = createLearner({ session, timeoutMs: 10 });
  const reporter = { report: () => {}, end: () => {} };
  const witness = createWitness({ reporter, audit: null, auditAll: false, time: now, now });
  const make = (seen: Witness) =>
    createPassage({
      session,
      rulebook: { current: { policy: OPEN, chain: null, observe: false } },
      learner,
      witness: seen,
      maxParkedBytes: 10,
    });
  return { sound: make(witness), failing: make({ ...witness, saw }) };
}

const now = (): number => 0;
const saw = (): never => {
  throw new Error("no space left");
};

function unaudited(): never {
  throw new Unaudited();
}

describe("what cannot be audited does not pass", () => {
  test("a request is answered, and the server never hears of it", async () => {
    const { client, heard, troubles, said } = stage(OPEN, { audit: unaudited });
    await client(call("a"));
    expect([heard("server"), heard("client")]).toEqual(["", internal(2)]);
    expect(troubles).toEqual(["audit"]);
    expect(said).toEqual(['warn  a message did not pass: the audit log cannot be written rule="audit"']);
  });

  test("an answer becomes an error for whoever waits", async () => {
    let isFull = false;
    const { client, server, heard, session } = stage(OPEN, { audit: () => isFull && unaudited() });
    await client(call("a"));
    heard("server");
    isFull = true;
    await server('{"jsonrpc":"2.0","id":2,"result":{"content":[]}}\n');
    expect([heard("server"), heard("client")]).toEqual(["", internal(2)]);
    expect(session.calls.up.size()).toBe(0);
  });
});
