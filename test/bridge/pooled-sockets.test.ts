import { afterEach, describe, expect, test } from "vitest";
import { openGateway } from "../support/near-gateway.ts";
import {
  becomes,
  beginEvents,
  beNear,
  type Knock,
  replyWith,
  resultFor,
  startScripted,
} from "../support/scripted-http.ts";

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** Sizes on both sides of what may wait for a reader before the server's connection is paused. */
const SIZES = [1000, 60_000, 70_000, 1_000_000];

/** A server that answers a call with an event of as many bytes as its argument says. */
async function startLarge(): Promise<{ readonly url: string; readonly sockets: Set<unknown> }> {
  const sockets = new Set<unknown>();
  const server = await startScripted(({ message, response }: Knock) => {
    sockets.add(response.socket);
    if (message.method !== "tools/call") return false;
    const { bytes } = (message.params?.["arguments"] ?? {}) as { bytes: number };
    const result = { content: [{ type: "text", text: "x".repeat(bytes) }] };
    beginEvents(response)(`data: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n\n`);
    response.end();
    return true;
  });
  closing.push(() => server.close());
  return { url: server.url, sockets };
}

function call(id: number, bytes: number): { id: number; method: string; params: Record<string, unknown> } {
  return { id, method: "tools/call", params: { name: "echo", arguments: { bytes } } };
}

describe("after a large event, the next request on the same connection to the server is answered", () => {
  test("to a client by HTTP", async () => {
    const server = await startLarge();
    const gateway = await openGateway({ upstream: server.url });
    closing.push(() => gateway.end());
    const session = await gateway.open();
    for (const [nth, bytes] of SIZES.entries()) {
      const { messages } = await gateway.post(call(2 * nth, bytes), session, AbortSignal.timeout(5000));
      expect(JSON.stringify(messages[0].result).length).toBeGreaterThan(bytes);
      const next = await gateway.post({ id: 2 * nth + 1, method: "ping" }, session, AbortSignal.timeout(5000));
      expect(next.messages).toEqual([{ jsonrpc: "2.0", id: 2 * nth + 1, result: {} }]);
    }
    expect(server.sockets.size).toBeLessThanOrEqual(2);
  });

  test("to a client on stdin and stdout that reads slowly", async () => {
    const server = await startLarge();
    const client = await beNear({ upstream: server.url });
    closing.push(() => {
      client.proxy.stop();
      return client.proxy.ended;
    });
    await client.begin();
    for (const [nth, bytes] of SIZES.entries()) {
      client.output.pause();
      setTimeout(() => client.output.resume(), 50);
      const large = await client.ask(call(2 * nth + 1, bytes));
      expect(JSON.stringify(large.result).length).toBeGreaterThan(bytes);
      expect(await client.ask({ id: 2 * nth + 2, method: "ping" })).toMatchObject({ result: {} });
    }
  });
});

/** A server that does not answer calls until it is told to. */
async function startSlow(): Promise<{ readonly url: string; release(): void; asked(): number }> {
  const held: Knock[] = [];
  const server = await startScripted((knock) => {
    if (knock.message.method !== "tools/call") return false;
    held.push(knock);
    return true;
  });
  closing.push(() => server.close());
  return {
    url: server.url,
    asked: () => held.length,
    release: () => held.splice(0).forEach(({ message, response }) => replyWith(response, resultFor(message))),
  };
}

describe("where all connections to the server are in use, a request is refused, and the client may come again", () => {
  test("to a client by HTTP, with 503", async () => {
    const server = await startSlow();
    const gateway = await openGateway({ upstream: server.url, limits: { maxUpstreamConnections: 1 } });
    closing.push(() => gateway.end());
    const session = await gateway.open();
    const first = gateway.post(call(1, 0), session);
    await becomes(() => server.asked() === 1);
    const refused = await gateway.post({ id: 2, method: "ping" }, session);
    expect([refused.status, refused.headers.get("retry-after"), refused.messages]).toEqual([503, "1", [BUSY]]);
    server.release();
    expect((await first).messages).toMatchObject([{ id: 1, result: {} }]);
    expect((await gateway.post({ id: 3, method: "ping" }, session)).messages).toMatchObject([{ id: 3, result: {} }]);
  });

  test("to a client on stdin and stdout, with an error", async () => {
    const server = await startSlow();
    const client = await beNear({ upstream: server.url, limits: { maxUpstreamConnections: 1 } });
    closing.push(() => {
      client.proxy.stop();
      return client.proxy.ended;
    });
    await client.begin();
    client.say({ jsonrpc: "2.0", ...call(1, 0) });
    await becomes(() => server.asked() === 1);
    expect(await client.ask({ id: 2, method: "ping" })).toEqual(BUSY);
    server.release();
    expect(await client.hear(({ id }) => id === 1)).toMatchObject({ result: {} });
  });
});

const BUSY = { jsonrpc: "2.0", id: 2, error: { code: -32000, message: "Too many requests at once" } };
