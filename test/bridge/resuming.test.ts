import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { MAX_TRAILED_EVENTS } from "../../src/bridge/event-trail.ts";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import type { Spoken } from "../support/peers.ts";
import { type NearGateway, openGateway } from "../support/near-gateway.ts";
import { beginEvents, type Knock, replyWith, resultFor, startScripted } from "../support/scripted-http.ts";

vi.setConfig({ testTimeout: 30_000 });

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const RESULTS: Record<string, object> = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, prompts: {} },
    serverInfo: { name: "store", version: "1" },
  },
  "prompts/list": { prompts: [{ name: "open" }, { name: "secret" }] },
  "tools/list": { tools: [{ name: "secret_tool", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "secret" }] },
};

/** Answers a request with an event, and keeps that event: whoever asks for what came after the first one gets it again. */
function eventStore() {
  const streams = new Map<string, string[]>();
  let count = 0;

  function answer({ method, message, headers, response }: Knock): boolean {
    if (method === "GET") {
      const [stream] = String(headers["last-event-id"]).split("_");
      const events = streams.get(stream);
      if (events === undefined) return false;
      const send = beginEvents(response);
      for (const event of events.slice(1)) send(event);
      response.end();
      return true;
    }
    if (message.id === undefined || message.method === undefined || message.method === "initialize") return false;
    send(response, message);
    return true;
  }

  function send(response: ServerResponse, message: Spoken): void {
    const stream = `s${++count}`;
    const result = RESULTS[message.method ?? ""] ?? {};
    const body = JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
    const events = [`id: ${stream}_0\ndata: \n\n`, `id: ${stream}_1\ndata: ${body}\n\n`];
    streams.set(stream, events);
    const write = beginEvents(response);
    for (const event of events) write(event);
    response.end();
  }
  return { answer };
}

async function begin(options: ProxyOptions, answer = eventStore().answer): Promise<NearGateway> {
  const server = await startScripted(answer, RESULTS);
  const gateway = await openGateway({ upstream: server.url, ...options });
  ends.push(
    () => gateway.end(),
    () => server.close(),
  );
  return gateway;
}

/** What a client hears that resumes after this event. */
async function resume(gateway: NearGateway, session: Record<string, string>, after: string): Promise<string> {
  const headers = { Accept: "text/event-stream", "Last-Event-ID": after, ...session };
  return (await gateway.send({ method: "GET", headers })).text();
}

const HIDING: ProxyOptions = { names: { prompts: { deny: ["^secret$"] } } };

describe("a resumed stream", () => {
  test("brings an answer again, judged as the answer to its own request", async () => {
    const gateway = await begin(HIDING);
    const session = await gateway.open();
    const first = await gateway.post({ id: 5, method: "prompts/list" }, session);
    expect(JSON.stringify(first.messages)).toContain("open");
    const again = await resume(gateway, session, "s1_0");
    expect(again).toContain('"open"');
    expect(again).not.toContain("secret");
  });

  test.each([
    ["a filtered list", { id: 5, method: "prompts/list" }, HIDING],
    ["a page of a filtered list", { id: 5, method: "tools/list", params: { cursor: "x" } }, { deny: ["^secret"] }],
  ])("does not bring %s unfiltered after its id was used for another request", async (_, asked, options) => {
    const gateway = await begin(options);
    const session = await gateway.open();
    await gateway.post(asked, session);
    await gateway.post({ id: 5, method: "ping" }, session);
    expect(await resume(gateway, session, "s1_0")).not.toContain("secret");
  });

  test("brings nothing after an event that was never sent, or was sent too long ago", async () => {
    const gateway = await begin(HIDING);
    const session = await gateway.open();
    await gateway.post({ id: 5, method: "prompts/list" }, session);
    expect(await resume(gateway, session, "s1_9")).not.toContain("prompts");
    for (let id = 0; id < MAX_TRAILED_EVENTS; id++) await gateway.post({ id: 100 + id, method: "ping" }, session);
    expect(await resume(gateway, session, "s1_0")).not.toContain("prompts");
  });

  test("of another session brings nothing", async () => {
    const gateway = await begin(HIDING);
    const session = await gateway.open();
    await gateway.post({ id: 5, method: "prompts/list" }, session);
    const other = await resume(gateway, { ...session, "Mcp-Session-Id": "another" }, "s1_0");
    expect(other).not.toContain("prompts");
  });
});

describe("an answer belongs to the stream of its request", () => {
  test("one that comes on the stream of another request is dropped, and the other is answered all the same", async () => {
    let late: Knock | null = null;
    const gateway = await begin(HIDING, (knock) => {
      const { message, response } = knock;
      if (message.method === "prompts/list") {
        late = knock;
        return true;
      }
      if (message.method !== "ping" || late === null) return false;
      const send = beginEvents(response);
      send(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 5, result: RESULTS["prompts/list"] })}\n\n`);
      send(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 6, result: {} })}\n\n`);
      response.end();
      replyWith(late.response, { jsonrpc: "2.0", id: 5, result: { prompts: [{ name: "open" }] } });
      return true;
    });
    const session = await gateway.open();
    const list = gateway.post({ id: 5, method: "prompts/list" }, session);
    const pong = await gateway.post({ id: 6, method: "ping" }, session);
    expect(pong.messages).toEqual([{ jsonrpc: "2.0", id: 6, result: {} }]);
    expect(JSON.stringify((await list).messages)).toContain('"open"');
  });

  test("one on the stream for what the server says unasked is dropped", async () => {
    const gateway = await begin(HIDING, ({ method, message, response }) => {
      if (method !== "GET") return message.method === "prompts/list";
      const send = beginEvents(response);
      send(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 5, result: RESULTS["prompts/list"] })}\n\n`);
      send('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n\n');
      response.end();
      return true;
    });
    const session = await gateway.open();
    const abort = new AbortController();
    const list = gateway.post({ id: 5, method: "prompts/list" }, session, abort.signal).catch(() => null);
    const text = await (
      await gateway.send({ method: "GET", headers: { Accept: "text/event-stream", ...session } })
    ).text();
    expect(text).toContain("notifications/message");
    expect(text).not.toContain("prompts");
    abort.abort();
    await list;
  });
});

test("the id of a request whose client left is not used again in its session", async () => {
  // As a server of the official SDK does: it finds the stream for an answer by the id of its request.
  const streams = new Map<unknown, ServerResponse>();
  const gateway = await begin(HIDING, ({ message, response }) => {
    if (message.id !== 5) return false;
    streams.set(message.id, response);
    if (message.method === "ping") replyWith(response, { jsonrpc: "2.0", id: 5, result: RESULTS["prompts/list"] });
    else beginEvents(response)("id: x_0\ndata: \n\n");
    return true;
  });
  const session = await gateway.open();
  const abort = new AbortController();
  const left = gateway.post({ id: 5, method: "prompts/list" }, session, abort.signal).catch(() => null);
  await vi.waitFor(() => expect(streams.size).toBe(1));
  abort.abort();
  await left;
  const again = await gateway.post({ id: 5, method: "ping" }, session);
  expect(JSON.stringify(again.messages)).not.toContain("secret");
  expect(again.status).toBe(400);
  expect(JSON.stringify(resultFor({ id: 6, method: "ping" }))).toBe(
    JSON.stringify((await gateway.post({ id: 6, method: "ping" }, session)).messages[0]),
  );
});

/** As a server of the official SDK: it finds the response for an answer by the id of the request, whichever came last. */
function byIdOnly(): { answer: (knock: Knock) => boolean; finish: () => void; waiting: () => number } {
  const streams = new Map<unknown, ServerResponse>();
  let count = 0;
  return {
    answer({ message, response }) {
      if (message.id !== 5) return false;
      count++;
      streams.set(message.id, response);
      return true;
    },
    waiting: () => count,
    /** The list is ready, and goes to the last one who asked under this id. */
    finish() {
      const response = streams.get(5);
      if (response !== undefined) replyWith(response, { jsonrpc: "2.0", id: 5, result: RESULTS["prompts/list"] });
    },
  };
}

test("the id of a request is not used again either where the request says it is of 2026-07-28", async () => {
  const server = byIdOnly();
  const gateway = await begin(HIDING, server.answer);
  const session = await gateway.open();
  const version = "2026-07-28";
  const headers = { ...session, "MCP-Protocol-Version": version, "Mcp-Method": "prompts/list" };
  const params = { _meta: { "io.modelcontextprotocol/protocolVersion": version } };
  const abort = new AbortController();
  const left = gateway.post({ id: 5, method: "prompts/list", params }, headers, abort.signal).catch(() => null);
  await vi.waitFor(() => expect(server.waiting()).toBe(1));
  abort.abort();
  await left;
  const again = gateway.post({ id: 5, method: "ping" }, session);
  await Promise.race([again, vi.waitFor(() => expect(server.waiting()).toBe(2))]);
  server.finish();
  expect(JSON.stringify((await again).messages)).not.toContain("secret");
});

describe("a session that is known to the server and not to us, as after a restart", () => {
  const session = { "Mcp-Session-Id": "from-before", "MCP-Protocol-Version": "2025-11-25" };

  test("has one table of calls for requests that come at the same time", async () => {
    const server = byIdOnly();
    const gateway = await begin(HIDING, server.answer);
    const list = gateway.post({ id: 5, method: "prompts/list" }, session);
    await vi.waitFor(() => expect(server.waiting()).toBe(1));
    const pong = gateway.post({ id: 5, method: "ping" }, session);
    await Promise.race([pong, vi.waitFor(() => expect(server.waiting()).toBe(2))]);
    server.finish();
    expect(JSON.stringify((await pong).messages)).not.toContain("secret");
    expect(JSON.stringify((await list).messages)).not.toContain("secret");
  });

  test("remembers the requests whose client left before the server answered anything", async () => {
    const server = byIdOnly();
    const gateway = await begin(HIDING, server.answer);
    const abort = new AbortController();
    const left = gateway.post({ id: 5, method: "prompts/list" }, session, abort.signal).catch(() => null);
    await vi.waitFor(() => expect(server.waiting()).toBe(1));
    abort.abort();
    await left;
    const pong = gateway.post({ id: 5, method: "ping" }, session);
    await Promise.race([pong, vi.waitFor(() => expect(server.waiting()).toBe(2))]);
    server.finish();
    expect(JSON.stringify((await pong).messages)).not.toContain("secret");
  });
});

describe("what says from where a stream is to be resumed", () => {
  test("does not reach the server with a message, which it would answer with other messages", async () => {
    const seen: unknown[] = [];
    const gateway = await begin(HIDING, ({ message, headers }) => {
      if (message.method === "ping") seen.push(headers["last-event-id"]);
      return false;
    });
    const session = await gateway.open();
    await gateway.post({ id: 5, method: "ping" }, { ...session, "Last-Event-ID": "s1_0" });
    expect(seen).toEqual([undefined]);
  });

  test("brings nothing where two streams had an event of the same name", async () => {
    // A server that counts the events of each stream from the beginning, and resumes the first that it finds.
    let first: string | null = null;
    const gateway = await begin(HIDING, ({ method, message, response }) => {
      if (method === "GET") {
        beginEvents(response)(first ?? "");
        response.end();
        return true;
      }
      if (message.id !== 5) return false;
      const body = JSON.stringify({ jsonrpc: "2.0", id: 5, result: RESULTS[message.method ?? ""] ?? {} });
      const event = `id: 2\ndata: ${body}\n\n`;
      first ??= event;
      beginEvents(response)(`id: 1\ndata: \n\n${event}`);
      response.end();
      return true;
    });
    const session = await gateway.open();
    await gateway.post({ id: 5, method: "prompts/list" }, session);
    await gateway.post({ id: 5, method: "ping" }, session);
    expect(await resume(gateway, session, "1")).not.toContain("secret");
  });
});
