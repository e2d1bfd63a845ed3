import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { gone, INITIALIZE, lives, messagesIn, type NearGateway, openGateway } from "../support/near-gateway.ts";
import type { Spoken } from "../support/peers.ts";
import { becomes } from "../support/scripted-http.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

let gateway: NearGateway;

async function begin(options: ProxyOptions = {}): Promise<void> {
  gateway = await openGateway(options);
}

afterEach(() => gateway.end());

const call = (id: number | string, name: string, args: object = {}, meta: object = {}): object => ({
  id,
  method: "tools/call",
  params: { name, arguments: args, _meta: meta },
});

async function pidOf(session: Record<string, string>): Promise<number> {
  const { messages } = await gateway.post(call("pid", "echo"), session);
  return Number(messages[0].result?.["pid"]);
}

/** A stream of its own that is read. */
async function listen(session: Record<string, string>): Promise<{ heard: () => Spoken[]; close(): void }> {
  const abort = new AbortController();
  const headers = { ...session, Accept: "text/event-stream" };
  const response = await gateway.send({ headers, signal: abort.signal });
  expect(response.status).toBe(200);
  let text = "";
  const read = async (): Promise<void> => {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      text += Buffer.from(chunk).toString();
  };
  void read().catch(() => {});
  return { heard: () => messagesIn(text), close: () => abort.abort() };
}

describe("sessions by HTTP before a process", () => {
  test("each has a process of its own, and what one calls its requests is no concern of the others", async () => {
    await begin();
    const sessions = await Promise.all(Array.from({ length: 5 }, () => gateway.open()));
    expect(new Set(await Promise.all(sessions.map(pidOf))).size).toBe(5);
    const meta = { progressToken: "same" };
    const replies = await Promise.all(
      sessions.map((session, nth) => gateway.post(call(7, "slow", { steps: 3, pause: 20, nth }, meta), session)),
    );
    replies.forEach(({ messages }, nth) => {
      expect(messages.slice(0, -1).map(({ params }) => params)).toEqual(
        [1, 2, 3].map((progress) => ({ progressToken: "same", progress })),
      );
      expect(messages.at(-1)).toMatchObject({ id: 7, result: { args: { nth } } });
    });
  });

  test("DELETE ends the process, and all it started", async () => {
    await begin();
    const session = await gateway.open();
    const { messages } = await gateway.post(call(1, "breed"), session);
    const { pid, bred } = messages[0].result as { pid: number; bred: number };
    expect([lives(pid), lives(bred)]).toEqual([true, true]);
    const response = await gateway.send({ method: "DELETE", headers: session });
    expect(response.status).toBe(200);
    await Promise.all([gone(pid), gone(bred)]);
    expect((await gateway.post(call(2, "echo"), session)).status).toBe(404);
  });

  test("where the process was only a wrapper, what it started has time to end", async () => {
    await begin({ command: ["sh", "-c", WRAPPER], timeouts: { childGrace: 5000 } });
    const { messages, headers } = await gateway.post(INITIALIZE);
    const pid = Number(messages[0].result?.["pid"]);
    const session = { "Mcp-Session-Id": headers.get("mcp-session-id") ?? "" };
    await gateway.send({ method: "DELETE", headers: session });
    await delay(300);
    expect(lives(pid)).toBe(true);
    await gone(pid);
  });

  test("one that nobody uses is ended after a while; one with a stream or a request is not", async () => {
    await begin({ timeouts: { sessionIdle: 1000 } });
    const [idle, listening, asking] = await Promise.all([gateway.open(), gateway.open(), gateway.open()]);
    const pids = await Promise.all([idle, listening, asking].map(pidOf));
    const stream = await listen(listening);
    const answer = gateway.post(call(1, "slow", { steps: 1, pause: 2500 }), asking);
    await gone(pids[0], 5000);
    expect((await answer).messages.at(-1)?.id).toBe(1);
    expect(lives(pids[1])).toBe(true);
    stream.close();
    await Promise.all([gone(pids[1], 5000), gone(pids[2], 5000)]);
    expect((await gateway.post(call(1, "echo"), idle)).status).toBe(404);
  });

  test("one whose client leaves before it has heard its name is ended at once: nobody can ever use it", async () => {
    await begin({ command: ["sh", "-c", THOUGHTFUL], limits: { maxChildren: 1 } });
    const leaving = new AbortController();
    const greeting = gateway.post(INITIALIZE, {}, leaving.signal).catch(() => null);
    await delay(300);
    leaving.abort();
    await greeting;
    await becomesOpen();
  });

  test("a client of the older transport that goes takes its process with it", async () => {
    await begin();
    const { endpoint, stream, heard } = await openSse();
    await post(endpoint, INITIALIZE);
    await post(endpoint, call(1, "echo"));
    await becomes(() => heard().length === 2);
    const pid = Number(heard()[1].result?.["pid"]);
    stream.destroy();
    await gone(pid);
    expect((await post(endpoint, call(2, "echo"))).status).toBe(404);
  });

  test("there are only so many, those that are ending included", async () => {
    await begin({ limits: { maxChildren: 2 }, command: ["sh", "-c", DEAF], timeouts: { childGrace: 500 } });
    const [one] = await Promise.all([gateway.open(), gateway.open()]);
    const refused = await gateway.post(INITIALIZE);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await gateway.send({ method: "DELETE", headers: one });
    expect((await gateway.post(INITIALIZE)).status).toBe(503);
    await delay(800);
    expect((await gateway.post(INITIALIZE)).status).toBe(200);
  });

  test("where the process dies, whoever waits is told and the session is gone", async () => {
    await begin();
    const [session, other] = await Promise.all([gateway.open(), gateway.open()]);
    const waiting = gateway.post(call(1, "slow", { steps: 1, pause: 5000 }), session);
    await delay(50);
    const died = await gateway.post(call(2, "die"), session);
    const closed = { code: -32000, message: "Connection closed" };
    expect(died.messages[0]).toMatchObject({ id: 2, error: closed });
    expect((await waiting).messages.at(-1)).toMatchObject({ id: 1, error: closed });
    expect((await gateway.post(call(3, "echo"), session)).status).toBe(404);
    expect((await gateway.post(call(3, "echo"), other)).status).toBe(200);
  });

  test("where the server does not want to begin there is no session", async () => {
    await begin({ limits: { maxChildren: 1 } });
    const params = { ...INITIALIZE.params, protocolVersion: "refuse" };
    const refused = await gateway.post({ ...INITIALIZE, params });
    expect(refused.messages[0].error).toEqual({ code: -32602, message: "No" });
    await becomesOpen();
  });

  test("what the server asks goes to the client that it works for, and the answer to the server", async () => {
    await begin();
    const session = await gateway.open();
    const stream = await listen(session);
    const answer = gateway.post(call(1, "ask"), session);
    await delay(100);
    // On the stream of the call, or on the standing one: a client reads both.
    const asked = stream.heard().find(({ method }) => method === "roots/list");
    const reply = { id: asked?.id ?? 1, result: { roots: [{ uri: "file:///x" }] } };
    expect((await gateway.post(reply, session)).status).toBe(202);
    expect((await answer).messages.at(-1)?.result).toEqual({ answered: reply.result });
    stream.close();
  });

  test("what is said while nobody listens comes with the next answer", async () => {
    await begin();
    const session = await gateway.open();
    const late = await gateway.post(call(1, "late", {}, { progressToken: 1 }), session);
    expect(late.messages.length).toBe(1);
    await delay(150);
    const { messages } = await gateway.post(call(2, "echo"), session);
    expect(messages.map(({ method, id }) => method ?? id)).toEqual(["notifications/progress", 2]);
  });

  test("a client that does not read is waited for, without keeping what the server says", async () => {
    await begin();
    const session = await gateway.open();
    const body = JSON.stringify({ jsonrpc: "2.0", ...call(1, "flood", { messages: 3000, bytes: 100_000 }) });
    const before = process.memoryUsage().rss;
    const stuck = request(`${gateway.url}/mcp`, { method: "POST", headers: { ...session, ...JSON_HEADERS } });
    stuck.on("response", (response) => response.pause());
    stuck.on("error", () => {});
    stuck.end(body);
    await delay(1500);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    const other = await gateway.open();
    expect((await gateway.post(call(1, "echo"), other)).status).toBe(200);
    stuck.destroy();
  });

  test("status codes are those of the revision", async () => {
    await begin();
    const session = await gateway.open();
    const status = async (init: RequestInit & { path?: string }): Promise<number> => (await gateway.send(init)).status;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const headers = { ...JSON_HEADERS, ...session };
    expect(await status({ method: "POST", body, headers: JSON_HEADERS })).toBe(400); // without its session
    expect(await status({ method: "POST", body, headers: { ...headers, "Mcp-Session-Id": "none" } })).toBe(404);
    expect(await status({ method: "POST", body, headers: { ...headers, Accept: "text/html" } })).toBe(406);
    expect(await status({ method: "POST", body, headers: { ...headers, "Content-Type": "text/plain" } })).toBe(415);
    expect(await status({ method: "POST", body, headers: { ...headers, "MCP-Protocol-Version": "soon" } })).toBe(400);
    expect(await status({ method: "POST", body: "{", headers })).toBe(400);
    expect(await status({ method: "PUT", body, headers })).toBe(405);
    expect(await status({ headers: { ...session, Accept: "application/json" } })).toBe(406);
    const stream = await listen(session);
    expect(await status({ headers: { ...session, Accept: "text/event-stream" } })).toBe(409);
    stream.close();
    expect(
      await status({ method: "POST", body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/x" }), headers }),
    ).toBe(202);
    expect(await status({ method: "GET", path: "/other" })).toBe(404);
  });
});

// Takes its time for the first answer.
const THOUGHTFUL = `read -r line; sleep 1; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'; read -r line; read -r line`;

// Ends with its stdin; what it has started takes a second.
const WRAPPER = `sleep 1 & read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"pid":'$!'}}'; read -r line`;

// Does not end when its stdin does.
const DEAF = `trap '' TERM; while read -r line; do echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'; done; exec sleep 1000`;

const JSON_HEADERS = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

async function becomesOpen(): Promise<void> {
  for (const until = Date.now() + 3000; (await gateway.post(INITIALIZE)).status !== 200; await delay(50)) {
    if (Date.now() > until) throw new Error("there is never room");
  }
}

async function post(endpoint: string, message: object): Promise<Response> {
  return gateway.send({
    path: endpoint,
    method: "POST",
    headers: JSON_HEADERS,
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
}

async function openSse(): Promise<{ endpoint: string; stream: ReturnType<typeof request>; heard: () => Spoken[] }> {
  let text = "";
  const stream = request(`${gateway.url}/sse`, { headers: { Accept: "text/event-stream" } });
  stream.on("response", (response) =>
    response.on("data", (chunk: Buffer) => (text += chunk.toString())).on("error", () => {}),
  );
  stream.on("error", () => {});
  stream.end();
  await becomes(() => text.includes("\n\n"));
  const endpoint = /^data: (\S+)$/m.exec(text)?.[1] ?? "";
  return { endpoint, stream, heard: () => messagesIn(text) };
}

const ping = (id: number): object => ({ jsonrpc: "2.0", id, method: "ping" });

async function postBatch(session: Record<string, string>, batch: object[], accept: string): Promise<string> {
  const headers = { ...session, "Content-Type": "application/json", Accept: accept };
  return (await gateway.send({ method: "POST", headers, body: JSON.stringify(batch) })).text();
}

describe("a batch, in the one revision that has batches", () => {
  const BATCHES = { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: "2025-03-26" } };

  async function openBatches(): Promise<Record<string, string>> {
    await begin();
    const { headers } = await gateway.post(BATCHES);
    const session = { "Mcp-Session-Id": headers.get("mcp-session-id") ?? "" };
    await gateway.post({ method: "notifications/initialized" }, session);
    return session;
  }

  test.each([
    ["at once", "application/json, text/event-stream"],
    ["at once", "application/json"],
    ["apart", "application/json, text/event-stream"],
    ["apart", "application/json"],
  ])("is answered once, where its server answers all of it %s, to a client that takes %s", async (how, accept) => {
    const session = await openBatches();
    const first = { ...ping(1), params: { apart: how === "apart" } };
    const text = await postBatch(session, [first, ping(2)], accept);
    expect(text.match(/"id":\d/g)).toEqual(['"id":1', '"id":2']);
  });

  test("brings the answer to another request by the way that one came", async () => {
    const session = await openBatches();
    const other = gateway.post(call(9, "slow", { steps: 1, pause: 10_000 }), session);
    await delay(100);
    const first = { ...ping(1), params: { more: [ping(9)] } };
    const text = await postBatch(session, [first, ping(2)], "application/json, text/event-stream");
    expect(text.match(/"id":\d/g)).toEqual(['"id":1', '"id":2']);
    expect((await other).messages).toEqual([{ jsonrpc: "2.0", id: 9, result: { method: "ping" } }]);
  });
});
