import { afterEach, describe, expect, test, vi } from "vitest";
import { INITIALIZE, type NearGateway, openGateway } from "../support/near-gateway.ts";
import { settledMemory } from "../support/memory.ts";
import {
  beginEvents,
  type Knock,
  replyWith,
  resultFor,
  type ScriptedServer,
  startScripted,
} from "../support/scripted-http.ts";
import { talkSse, type WireTalk } from "../support/wire-talk.ts";

vi.setConfig({ testTimeout: 60_000 }); // on a machine that may be busy

let server: ScriptedServer;
let gateway: NearGateway;

afterEach(async () => {
  await gateway.end();
  await server.close();
});

/** A server with a session for everybody, which tells in three steps what it was asked. */
async function begin(): Promise<void> {
  let sessions = 0;
  server = await startScripted((knock) => {
    const { message, response } = knock;
    if (message.method === "initialize") {
      replyWith(response, resultFor(message), { "Mcp-Session-Id": `session-${++sessions}` });
    } else if (message.method === "tools/call") count(knock);
    else return false;
    return true;
  });
  gateway = await openGateway({ upstream: server.url });
}

function count({ message, response }: Knock): void {
  const say = beginEvents(response);
  const { progressToken } = (message.params?.["_meta"] ?? {}) as { progressToken?: unknown };
  let step = 0;
  const timer = setInterval(() => {
    step++;
    const params = { progressToken, progress: step, message: JSON.stringify(message.params?.["arguments"]) };
    if (step <= 3)
      return say(`data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params })}\n\n`);
    clearInterval(timer);
    say(`data: ${JSON.stringify(resultFor(message))}\n\n`);
    response.end();
  }, 5);
}

const MINE = { progressToken: "same" };
const CLIENTS = Array.from({ length: 50 }, (_, nth) => nth);

describe("many clients at once with the same ids and the same tokens, before a server by HTTP", () => {
  test("in sessions of the server's", async () => {
    await begin();
    const sessions = await Promise.all(CLIENTS.map(() => gateway.open()));
    const replies = await Promise.all(
      sessions.map((session, nth) => {
        const params = { name: "echo", arguments: { nth }, _meta: MINE };
        return gateway.post({ id: 1, method: "tools/call", params }, session);
      }),
    );
    replies.forEach(({ messages }, nth) => expectOwn(messages, nth));
  });

  test("without sessions", async () => {
    await begin();
    const replies = await Promise.all(CLIENTS.map((nth) => gateway.call(1, "echo", { nth }, MINE)));
    replies.forEach(({ messages }, nth) => expectOwn(messages, nth));
  });

  test("by the older transport, each in a session of its own", async () => {
    await begin();
    const talks = await Promise.all(CLIENTS.map(() => talkSse(`${gateway.url}/sse`)));
    await Promise.all(
      talks.map(async (talk, nth) => {
        await talk.ask(JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE }));
        const params = { name: "echo", arguments: { nth }, _meta: MINE };
        await talk.ask(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
        expectOwn(messagesOf(talk).slice(1), nth);
      }),
    );
    await Promise.all(talks.map((talk) => talk.end()));
  });

  test("sessions whose requests had many headers keep none of them", async () => {
    await begin();
    const heavy = { "X-Heavy": "h".repeat(9000), Authorization: `Bearer ${"t".repeat(4000)}` };
    const open = async (count: number): Promise<NodeJS.MemoryUsage> => {
      for (let nth = 0; nth < count; nth += 20) {
        const opened = await Promise.all(Array.from({ length: 20 }, () => gateway.post(INITIALIZE, heavy)));
        expect(opened.every(({ status }) => status === 200)).toBe(true);
      }
      (server.knocks as Knock[]).length = 0; // the server is in here too
      return settledMemory();
    };
    const before = await open(100);
    const after = await open(400);
    expect((after.heapUsed - before.heapUsed) / 400).toBeLessThan(16_000);
  });

  test("a thousand sessions that do nothing, and then something", async () => {
    await begin();
    const before = process.memoryUsage().heapUsed;
    const sessions: Record<string, string>[] = [];
    for (let batch = 0; batch < 20; batch++) {
      sessions.push(...(await Promise.all(Array.from({ length: 50 }, () => gateway.open()))));
    }
    expect(new Set(sessions.map((session) => session["Mcp-Session-Id"])).size).toBe(1000);
    expect((process.memoryUsage().heapUsed - before) / 1000).toBeLessThan(100_000); // the server is in here too
    for (const session of sessions.filter((_, nth) => nth % 50 === 0)) {
      expect((await gateway.post({ id: 1, method: "ping" }, session)).status).toBe(200);
    }
  });
});

function messagesOf(talk: WireTalk): object[] {
  return talk.streams.flat().map((text) => JSON.parse(text) as object);
}

function expectOwn(messages: readonly object[], nth: number): void {
  const progress = [1, 2, 3].map((step) => ({
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken: "same", progress: step, message: `{"nth":${nth}}` },
  }));
  expect(messages).toEqual([...progress, { jsonrpc: "2.0", id: 1, result: { content: [], echoed: { nth } } }]);
}
