import { afterEach, describe, expect, test } from "vitest";
import { openGateway } from "../support/near-gateway.ts";
import { beginEvents, beNear, type Knock, startScripted } from "../support/scripted-http.ts";

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
