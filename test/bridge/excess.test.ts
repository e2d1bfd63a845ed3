import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { AuditEvent } from "../../src/record/event.ts";
import { INITIALIZE, type NearGateway, openGateway } from "../support/near-gateway.ts";
import {
  becomes,
  beginEvents,
  beNear,
  type Knock,
  replyWith,
  resultFor,
  startScripted,
} from "../support/scripted-http.ts";
import { startSse } from "../support/sse-server.ts";
import { talkSse } from "../support/wire-talk.ts";
import type { Spoken } from "../support/peers.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

const LIMIT = 2000;
const LARGE = "x".repeat(LIMIT);
const LOST = { id: 7, error: { code: -32000, message: "Response too large" } };
const CALL = { id: 7, method: "tools/call", params: { name: "large", arguments: { bytes: LIMIT } } };
const DEMAND = { id: 7, method: "tools/call", params: { name: "demand", arguments: { bytes: LIMIT } } };
const REFUSED = { answered: { code: -32600, message: "Invalid request: message too large" } };
const answer = `{"result":{"text":"${LARGE}"},"jsonrpc":"2.0","id":7}`;
const BEGUN = '{"jsonrpc":"2.0","id":7,"result":{"text":"';

let events: AuditEvent[];
let closing: (() => unknown)[];

beforeEach(() => {
  events = [];
  closing = [];
});

afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

/** What every proxy here is like. */
const options = () => ({ limits: { maxMessageBytes: LIMIT }, audit: (event: AuditEvent) => void events.push(event) });

function expectAudited(): void {
  const seen = events.filter(({ rule }) => rule === "strict:too-large");
  expect(seen).toMatchObject([{ direction: "down", verdict: "deny" }]);
  expect(seen[0].bytes).toBeGreaterThan(LIMIT);
}

/** A server of Streamable HTTP that answers calls with too much, in a body or in a stream that goes on. */
async function startStreamable(way: "body" | "event"): Promise<string> {
  const server = await startScripted(({ message, response }) => {
    if (message.method !== "tools/call") return false;
    if (way === "event") beginEvents(response)(`id: {1}\nevent: message\ndata: ${answer}\n\n`);
    else replyWith(response, JSON.parse(answer) as object);
    return true;
  });
  closing.push(() => server.close());
  return server.url;
}

/** The same by the older transport. */
async function startOlder(): Promise<string> {
  const { server, url } = await startSse({
    hear({ message }, stream) {
      if (message?.method !== "tools/call") return false;
      stream.chunk(`event: message\ndata: ${answer}\n\n`);
      return true;
    },
  });
  closing.push(() => server.close());
  return url;
}

async function begin(upstream?: string): Promise<NearGateway> {
  const gateway = await openGateway(upstream === undefined ? options() : { ...options(), upstream });
  closing.push(() => gateway.end());
  return gateway;
}

/** Who calls, and hears what comes of it: by each transport. */
const callers = {
  async lines(upstream: string): Promise<Spoken> {
    const client = await beNear({ ...options(), upstream });
    closing.push(() => {
      client.proxy.stop();
      return client.proxy.ended;
    });
    await client.begin();
    return client.ask(CALL);
  },
  async "Streamable HTTP"(upstream?: string): Promise<Spoken> {
    const gateway = await begin(upstream);
    const { messages } = await gateway.post(CALL, await gateway.open());
    return messages[0];
  },
  async "HTTP+SSE"(upstream?: string): Promise<Spoken> {
    const gateway = await begin(upstream);
    const talk = await talkSse(`${gateway.url}/sse`);
    closing.push(() => talk.end());
    await talk.ask(JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE }));
    await talk.ask(JSON.stringify({ jsonrpc: "2.0", ...CALL }));
    return JSON.parse(talk.streams.flat().at(-1) ?? "") as Spoken;
  },
};

describe("an answer that is too large is an error at once, and is audited", () => {
  test.each(["Streamable HTTP", "HTTP+SSE"] as const)("from a process to a client by %s", async (by) => {
    expect(await callers[by]()).toMatchObject(LOST);
    expectAudited();
  });

  test("from a process to a client without a session, under the client's own id", async () => {
    const gateway = await begin();
    const { status, messages } = await gateway.call("mine", "large", { bytes: LIMIT });
    expect([status, messages]).toMatchObject([200, [{ ...LOST, id: "mine" }]]);
    expectAudited();
  });

  for (const by of ["lines", "Streamable HTTP", "HTTP+SSE"] as const) {
    test(`in a body, to a client by ${by}`, async () => {
      expect(await callers[by](await startStreamable("body"))).toMatchObject(LOST);
      expectAudited();
    });

    test(`in an event, to a client by ${by}`, async () => {
      // The stream of a client that asked by Streamable HTTP is the server's, and goes on as long as that wants.
      const server = await startStreamable("event");
      if (by !== "Streamable HTTP") expect(await callers[by](server)).toMatchObject(LOST);
      else {
        const gateway = await begin(server);
        const body = JSON.stringify({ jsonrpc: "2.0", ...CALL });
        const headers = { ...(await gateway.open()), ...JSON_BOTH };
        const response = await gateway.send({ method: "POST", headers, body });
        const reader = response.body?.getReader();
        const { value } = (await reader?.read()) ?? {};
        expect(Buffer.from(value as Uint8Array).toString()).toBe(
          `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...LOST })}\n\n`,
        );
        await reader?.cancel();
      }
      expectAudited();
    });

    test(`on the stream of the older transport, to a client by ${by}`, async () => {
      expect(await callers[by](await startOlder())).toMatchObject(LOST);
      expectAudited();
    });
  }
});

const bounded = () => ({ ...options(), limits: { maxMessageBytes: LIMIT, maxBufferBytes: 2 * LIMIT } });

describe("an answer that is too large and does not end is given up", () => {
  const endless = BEGUN + "x".repeat(100_000);

  /** A server that begins its answer to a call, and never ends it. Says whether its connection was closed. */
  async function startEndless(way: "body" | "event"): Promise<{ url: string; isLeft: () => boolean }> {
    let isLeft = false;
    const server = await startScripted(({ message, response }) => {
      if (message.method !== "tools/call") return false;
      response.on("close", () => (isLeft = true));
      const type = way === "event" ? "text/event-stream" : "application/json";
      response.writeHead(200, { "Content-Type": type });
      response.write(way === "event" ? `data: ${endless}` : endless);
      return true;
    });
    closing.push(() => server.close());
    return { url: server.url, isLeft: () => isLeft };
  }

  test.each(["body", "event"] as const)("in one %s, to a client on lines", async (way) => {
    const server = await startEndless(way);
    const client = await beNear({ ...bounded(), upstream: server.url });
    closing.push(() => {
      client.proxy.stop();
      return client.proxy.ended;
    });
    await client.begin();
    expect(await client.ask(CALL)).toMatchObject(LOST);
    expectAudited();
    if (way === "body") await becomes(server.isLeft);
  });

  test("in one body, to a client by HTTP", async () => {
    const server = await startEndless("body");
    const gateway = await openGateway({ ...bounded(), upstream: server.url });
    closing.push(() => gateway.end());
    const { messages } = await gateway.post(CALL, await gateway.open(), AbortSignal.timeout(5000));
    expect(messages).toMatchObject([LOST]);
    expectAudited();
    await becomes(server.isLeft);
  });

  test("in one event, to a client by HTTP", async () => {
    const server = await startEndless("event");
    const gateway = await openGateway({ ...bounded(), upstream: server.url });
    closing.push(() => gateway.end());
    const body = JSON.stringify({ jsonrpc: "2.0", ...CALL });
    const headers = { ...(await gateway.open()), ...JSON_BOTH };
    const response = await gateway.send({ method: "POST", headers, body, signal: AbortSignal.timeout(5000) });
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(Buffer.from(value as Uint8Array).toString()).toContain(JSON.stringify({ jsonrpc: "2.0", ...LOST }));
    await reader?.cancel();
    expectAudited();
  });

  test("of a process, to a client by HTTP", async () => {
    const begun = '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}';
    const script = `read -r line; echo '${begun}'; read -r line; read -r line; printf '%s' '${endless}'; cat`;
    const gateway = await openGateway({ ...bounded(), command: ["sh", "-c", script] });
    closing.push(() => gateway.end());
    const { messages } = await gateway.post(CALL, await gateway.open(), AbortSignal.timeout(5000));
    expect(messages).toMatchObject([LOST]);
    expectAudited();
  });
});

describe("a request of the server's that is too large is refused, and the server hears of it", () => {
  test("from a process to a client in a session", async () => {
    const gateway = await begin();
    const { messages } = await gateway.post(DEMAND, await gateway.open());
    expect(messages.at(-1)?.result).toEqual(REFUSED);
    expectAudited();
  });

  test("from a process to a client without one", async () => {
    const gateway = await begin();
    const { messages } = await gateway.call(7, "demand", { bytes: LIMIT });
    expect(messages.at(-1)?.result).toEqual(REFUSED);
    expectAudited();
  });
});

test("where the first answer is too large there is no session", async () => {
  const command = ["sh", "-c", `read -r line; printf '{"jsonrpc":"2.0","id":0,"result":"%s"}\\n' ${LARGE}; cat`];
  const gateway = await openGateway({ ...options(), command });
  closing.push(() => gateway.end());
  const { messages, headers } = await gateway.post(INITIALIZE);
  expect(messages).toMatchObject([{ ...LOST, id: 0 }]);
  const session = { "Mcp-Session-Id": headers.get("mcp-session-id") ?? "none" };
  expect((await gateway.post({ id: 1, method: "ping" }, session)).status).toBe(404);
});

describe("a list of ours that is too large is not waited for", () => {
  const list = { tools: [{ name: "echo", description: LARGE, inputSchema: { type: "object" } }] };

  test.each(["body", "event"])("at the start, in one %s", async (way) => {
    const server = await startScripted(
      () => false,
      {},
      (knock) => tooMuch(knock, way),
    );
    closing.push(() => server.close());
    const starting = openGateway({ ...options(), upstream: server.url, timeouts: { toolList: 60_000 } });
    await expect(starting).rejects.toMatchObject({
      code: "TOOL_LIST_FAILED",
      remedy: "Invalid response: the answer to tools/list was too large, or could not be read",
    });
  });

  test.each(["body", "event"])("in the name of a client who has logged in, in one %s", async (way) => {
    const server = await startScripted(
      (knock) => knock.message.method === "tools/list" && tooMuch(knock, way),
      {},
      ({ response }) => {
        response.writeHead(401).end();
        return true;
      },
    );
    closing.push(() => server.close());
    const upstream = server.url;
    const gateway = await openGateway({ ...options(), upstream, deny: ["^x$"], timeouts: { toolList: 60_000 } });
    closing.push(() => gateway.end());
    const { messages } = await gateway.post(CALL, await gateway.open());
    expect(messages).toMatchObject([{ id: 7, error: { code: -32603 } }]);
  });

  function tooMuch({ message, response }: Knock, way: string): boolean {
    if (message.method !== "tools/list") return false;
    const result = { ...(resultFor(message) as { id: unknown }), result: list };
    if (way === "event") beginEvents(response)(`data: ${JSON.stringify(result)}\n\n`);
    else replyWith(response, result);
    return true;
  }
});

const JSON_BOTH = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
