import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { INITIALIZE, lives, type NearGateway, openGateway, type Reply } from "../support/near-gateway.ts";
import { becomes, beginEvents, startScripted } from "../support/scripted-http.ts";
import { startSse } from "../support/sse-server.ts";
import { talkSse } from "../support/wire-talk.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

let closing: (() => unknown)[];
beforeEach(() => {
  closing = [];
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

async function begin(options: ProxyOptions = {}): Promise<NearGateway> {
  const gateway = await openGateway({ timeouts: { drain: 300 }, ...options });
  closing.push(() => gateway.end());
  return gateway;
}

const CALL = { id: 7, method: "tools/call", params: { name: "slow", arguments: { steps: 1, pause: 20_000 } } };
const TOLD = { id: 7, error: { code: -32000, message: "Connection closed" } };

/** Stops a proxy while somebody waits: what that one hears. */
async function stopWhile(gateway: NearGateway, waiting: Promise<Reply>): Promise<readonly [number, unknown]> {
  await delay(100);
  gateway.proxy.stop();
  const { status, messages } = await waiting;
  expect(await gateway.proxy.ended).toMatchObject({ code: 1, lost: false });
  return [status, messages.at(-1)];
}

/** Somebody who came by the older transport and still waits is told when we stop. */
async function expectTold(gateway: Awaited<ReturnType<typeof openGateway>>): Promise<void> {
  const talk = await talkSse(`${gateway.url}/sse`);
  await talk.ask(JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE }));
  const waiting = talk.ask(JSON.stringify({ jsonrpc: "2.0", ...CALL }));
  await delay(50);
  gateway.proxy.stop();
  await waiting;
  expect(JSON.parse(talk.streams.flat().at(-1) ?? "")).toMatchObject(TOLD);
  await talk.end();
}

describe("whoever is not answered before it ends is told so", () => {
  test("in a session with a process", async () => {
    const gateway = await begin();
    const waiting = gateway.post(CALL, await gateway.open());
    expect(await stopWhile(gateway, waiting)).toMatchObject([503, TOLD]);
  });

  test("in a session with a process, on its stream", async () => {
    const gateway = await begin();
    const session = await gateway.open();
    const flood = { id: 7, method: "tools/call", params: { name: "slow", arguments: { steps: 1000, pause: 20 } } };
    expect(await stopWhile(gateway, gateway.post(flood, session))).toMatchObject([200, TOLD]);
  });

  test("without a session, from a process", async () => {
    const gateway = await begin();
    const waiting = gateway.call(7, "slow", { steps: 1, pause: 20_000 });
    await delay(300); // for the process
    expect(await stopWhile(gateway, waiting)).toMatchObject([503, TOLD]);
  });

  test("by the older transport", async () => {
    const gateway = await begin();
    await expectTold(gateway);
  });

  test("by the older transport at both ends", async () => {
    const older = await startSse({ hear: ({ message }) => message?.method === "tools/call" });
    closing.push(() => older.server.close());
    const gateway = await begin({ upstream: older.url });
    await expectTold(gateway);
  });

  test.each([
    ["nothing so far", null, 503],
    ["a stream", ": begun\n\n", 200],
    ["a stream that could be taken up again", "id: 1\ndata: \n\n", 200],
  ])("by a server by HTTP that has answered with %s", async (_, begun, status) => {
    const server = await startScripted(({ message, response }) => {
      if (message.method !== "tools/call") return false;
      if (begun !== null) beginEvents(response)(begun);
      return true;
    });
    closing.push(() => server.close());
    const gateway = await begin({ upstream: server.url });
    const waiting = gateway.post(CALL, await gateway.open());
    await becomes(() => server.knocks.some(({ message }) => message.method === "tools/call"));
    expect(await stopWhile(gateway, waiting)).toMatchObject([status, TOLD]);
  });

  test("while a call waits for the list of tools", async () => {
    const server = await startScripted(
      ({ message }) => message.method === "tools/list",
      {},
      ({ message, response }) => {
        if (message.method !== "tools/list") response.writeHead(401).end();
        return true;
      },
    );
    closing.push(() => server.close());
    const gateway = await begin({ upstream: server.url, deny: ["^x$"] });
    const waiting = gateway.post(CALL, await gateway.open());
    expect(await stopWhile(gateway, waiting)).toMatchObject([503, { error: TOLD.error }]);
  });

  test("at the second signal too", async () => {
    const gateway = await begin({ timeouts: { drain: 20_000 } });
    const waiting = gateway.post(CALL, await gateway.open());
    await delay(100);
    gateway.proxy.stop();
    gateway.proxy.stop();
    expect((await waiting).messages).toMatchObject([TOLD]);
  });
});

test("who asked by the older transport has as long to be answered as others", async () => {
  const gateway = await begin({ timeouts: { drain: 20_000 } });
  const talk = await talkSse(`${gateway.url}/sse`);
  await talk.ask(JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE }));
  const params = { name: "slow", arguments: { steps: 1, pause: 700 } };
  const waiting = talk.ask(JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params }));
  await delay(50);
  gateway.proxy.stop();
  expect(JSON.parse(await waiting)).toHaveProperty("result");
  await gateway.proxy.ended;
  await talk.end();
});

test("a process behind it has its grace, also where requests have used up their time", async () => {
  const gateway = await begin({ command: ["sh", "-c", POLITE], timeouts: { drain: 200, childGrace: 3000 } });
  const { messages, headers } = await gateway.post(INITIALIZE);
  const pid = Number(messages[0].result?.["pid"]);
  const waiting = gateway.post(CALL, { "Mcp-Session-Id": headers.get("mcp-session-id") ?? "" });
  await delay(50);
  const stopped = Date.now();
  gateway.proxy.stop();
  await waiting;
  await gateway.proxy.ended;
  expect(Date.now() - stopped).toBeGreaterThan(800); // it took its time, and nobody killed it
  expect(lives(pid)).toBe(false);
});

// Takes a while to end when its stdin does.
const POLITE = `while read -r line; do case $line in *initialize*) echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"pid":'$$'}}';; esac; done; exec sleep 0.7`;
