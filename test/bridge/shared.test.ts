import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { type NearGateway, openGateway } from "../support/near-gateway.ts";
import { becomes } from "../support/scripted-http.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

let gateway: NearGateway;

async function begin(options: ProxyOptions = {}): Promise<void> {
  gateway = await openGateway(options);
}

afterEach(() => gateway.end());

const VERSION = "2026-07-28";
const HEADERS = { "MCP-Protocol-Version": VERSION };

function ask(
  id: number | string,
  method: string,
  params: object = {},
  signal?: AbortSignal,
): ReturnType<NearGateway["post"]> {
  const meta = { "io.modelcontextprotocol/protocolVersion": VERSION };
  return gateway.post({ id, method, params: { ...params, _meta: meta } }, { ...HEADERS, "Mcp-Method": method }, signal);
}

describe("one process for all who come without a session", () => {
  test("fifty at once with the same ids and the same tokens get their own answers and progress", async () => {
    await begin();
    const meta = { progressToken: 1 };
    const clients = Array.from({ length: 50 }, (_, nth) => nth);
    const replies = await Promise.all(
      clients.map((nth) => gateway.call(1, "slow", { steps: 3, pause: 5 + (nth % 7), nth }, meta)),
    );
    const pids = new Set<unknown>();
    replies.forEach(({ status, messages }, nth) => {
      expect(status).toBe(200);
      const progress = messages.slice(0, -1).map(({ params }) => params);
      expect(progress).toEqual([1, 2, 3].map((step) => ({ progressToken: 1, progress: step })));
      expect(messages.at(-1)).toMatchObject({ id: 1, result: { args: { nth } } });
      pids.add(messages.at(-1)?.result?.["pid"]);
    });
    expect(pids.size).toBe(1);
  });

  test("ids and tokens come back as they were spelled", async () => {
    await begin();
    for (const id of [0, "0", "a b", 9007199254740991, ""]) {
      const { messages } = await gateway.call(id, "slow", { steps: 1, pause: 1 }, { progressToken: `${id}` });
      expect(messages.map((message) => message.id ?? message.params?.["progressToken"])).toEqual([`${id}`, id]);
    }
  });

  test("who leaves cancels, and what comes late of it reaches nobody else", async () => {
    await begin();
    const abort = new AbortController();
    const left = gateway.call(1, "slow", { steps: 100, pause: 20 }, { progressToken: "t" }, abort.signal);
    await delay(100);
    abort.abort();
    await expect(left).rejects.toThrow();
    await gateway.call(1, "late", {}, { progressToken: "t" });
    const { messages } = await gateway.call(1, "slow", { steps: 2, pause: 100 }, { progressToken: "t" });
    expect(messages.map(({ params, id }) => params?.["progress"] ?? id)).toEqual([1, 2, 1]);
  });

  test("log messages are for the one who asked for them, and for nobody where that is not clear", async () => {
    await begin();
    const log = { "io.modelcontextprotocol/logLevel": "info" };
    const flood = (id: number, meta: object): ReturnType<NearGateway["call"]> =>
      gateway.call(id, "flood", { messages: 2, bytes: 1 }, meta);
    expect((await flood(1, log)).messages.length).toBe(3);
    expect((await flood(2, {})).messages.length).toBe(1);
    const waiting = gateway.call(3, "slow", { steps: 1, pause: 300 }, log);
    await delay(50);
    expect((await flood(4, log)).messages.length).toBe(1);
    expect((await waiting).messages.length).toBe(1);
  });

  test("a subscription is called what its client called it, from the first message to the last", async () => {
    await begin();
    await gateway.call(1, "echo");
    const { messages } = await ask("mine", "subscriptions/listen", { notifications: {} });
    const text = JSON.stringify(messages);
    expect(text.match(/"mine"/g)?.length).toBe(5);
    expect(messages.map(({ method, id }) => method ?? id)).toEqual([
      "notifications/subscriptions/acknowledged",
      "notifications/tools/list_changed",
      "notifications/cancelled",
      "mine",
    ]);
  });

  test("nobody can change the process for the others with what only the older era has", async () => {
    await begin();
    for (const method of ["initialize", "logging/setLevel", "resources/subscribe"]) {
      const { status, messages } = await ask(1, method, { uri: "x" });
      expect([status, messages[0].error?.code]).toEqual([404, -32601]);
    }
  });

  test("it dies: whoever waits is told, and the next request starts another", async () => {
    await begin();
    const waiting = gateway.call(1, "slow", { steps: 1, pause: 5000 });
    await delay(100);
    const died = await gateway.call(1, "die");
    expect([died.status, died.messages[0].error?.message]).toEqual([502, "Connection closed"]);
    expect((await waiting).messages.at(-1)?.error?.message).toBe("Connection closed");
    expect((await gateway.call(1, "echo")).messages[0].result).toMatchObject({ name: "echo" });
  });

  test("it dies while its tools are being asked for: the call is answered", async () => {
    await begin({ deny: ["^secret_"], command: ["sh", "-c", "read -r line; exit 1"] });
    const before = Date.now();
    const { status, messages } = await gateway.call(1, "echo");
    expect([status >= 400 || messages[0].error !== undefined, Date.now() - before < 5000]).toEqual([true, true]);
  });

  test("a client that does not read is cut off, and the others do not notice", async () => {
    await begin({ limits: { maxMessageBytes: 100_000 } });
    await gateway.call(1, "echo");
    const params = {
      name: "flood",
      arguments: { messages: 5000, bytes: 10_000, method: "notifications/progress" },
      _meta: { "io.modelcontextprotocol/protocolVersion": VERSION, progressToken: 1 },
    };
    let isCut = false;
    const stuck = request(`${gateway.url}/mcp`, {
      method: "POST",
      headers: {
        ...HEADERS,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "flood",
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
      },
    });
    stuck.on("response", (response) => {
      response.pause();
      setTimeout(() => response.resume(), 1000);
      response.on("error", () => (isCut = true));
    });
    stuck.on("error", () => (isCut = true));
    stuck.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
    await delay(200);
    const before = Date.now();
    expect((await gateway.call(2, "echo")).status).toBe(200);
    expect(Date.now() - before).toBeLessThan(2000);
    await becomes(() => isCut);
  });
});
