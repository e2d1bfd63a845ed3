import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { answerMemory, requestMemory } from "../../src/link/memory.ts";
import { chooseSeed, createRandom, type Random } from "../fuzz/random.ts";
import { messagesIn, type NearGateway, openGateway } from "../support/near-gateway.ts";
import type { Spoken } from "../support/peers.ts";
import { type Answer, converse, dial, readAnswers, write } from "../support/raw-http.ts";
import { becomes, beNear } from "../support/scripted-http.ts";
import { anyManner, type Manner, startWayward, type WaywardServer } from "../support/wayward-server.ts";

// Connections to the server are shared by all clients and used again and again. Whatever a server does with one of them,
// and however its client reads, the next request on it must be answered, and with nobody else's answer.

vi.setConfig({ testTimeout: 60_000 });

const CLIENTS = 25;

/** A call, and how the server is to answer it. */
interface Asked {
  readonly id: number;
  readonly token: string;
  readonly manner: Manner;
}

let server: WaywardServer;
let gateway: NearGateway;
let handlesBefore: number;
const seed = chooseSeed();

beforeEach(async () => {
  handlesBefore = sockets();
  server = await startWayward();
});

afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.log(`FUZZ_SEED=${seed}`);
  await server.close();
});

/** Sockets that this process has open. */
function sockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap" || name === "TCPWRAP").length;
}

/** Nothing is left of what was on its way. */
async function expectNothingLeft(): Promise<void> {
  await becomes(() => answerMemory.taken === 0 && requestMemory.taken === 0);
  await gateway.end();
  await becomes(() => server.open() === 0);
  await server.close();
  await becomes(() => sockets() <= handlesBefore);
}

let counter = 0;

function makeUp(random: Random, manners: (random: Random) => Manner): Asked {
  const id = ++counter;
  return { id, token: `token-${id}-${random.below(1_000_000)}`, manner: manners(random) };
}

/** Ends every response so that its connection can be used again, or says that it cannot. */
function goodManner(random: Random): Manner {
  const manner = anyManner(random);
  return { ...manner, end: "kept", framing: manner.framing === "until-end" ? "chunked" : manner.framing };
}

function question({ id, token, manner }: Asked, isLast: boolean): Buffer {
  const params = { name: "echo", arguments: { token, manner } };
  const headers: [string, string][] = [
    ["Content-Type", "application/json"],
    ["Accept", "application/json, text/event-stream"],
  ];
  if (isLast) headers.push(["Connection", "close"]);
  return write({ headers, body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }) });
}

/** Asks several things on one connection, one behind the other. */
async function askAll(asked: readonly Asked[], isSlow: boolean): Promise<Answer[]> {
  const requests = asked.map((each, nth) => question(each, nth === asked.length - 1));
  const { port } = new URL(gateway.url);
  if (!isSlow) return converse({ port: Number(port) }, requests);
  const socket = await dial({ port: Number(port) });
  const heard: Buffer[] = [];
  for (const request of requests) socket.write(request);
  socket.on("data", (chunk: Buffer) => {
    heard.push(chunk);
    if (heard.length % 4 !== 0) return;
    socket.pause();
    setTimeout(() => socket.resume(), 10);
  });
  await new Promise((resolve) => socket.once("close", resolve));
  return readAnswers(Buffer.concat(heard));
}

/** Asks something, and leaves in the middle of the answer, or before it. */
async function leave(asked: Asked, random: Random): Promise<void> {
  const { port } = new URL(gateway.url);
  const socket = await dial({ port: Number(port) });
  socket.write(question(asked, false));
  await delay(random.below(30));
  if (random.chance(0.3)) socket.end();
  else if (random.chance(0.5)) socket.resetAndDestroy();
  else socket.destroy();
  socket.resume();
  await new Promise((resolve) => (socket.closed ? resolve(null) : socket.once("close", resolve)));
}

/** What became of a call: its own result, or an error. Anybody else's answer is a fault. */
function check({ id, token, manner }: Asked, messages: readonly Spoken[]): "result" | "error" {
  expect(messages.map((message) => message.id)).toEqual([id]);
  const [{ result, error }] = messages;
  if (result === undefined) {
    expect(error).toMatchObject({ code: -32000 });
    return "error";
  }
  expect([result["token"], String(result["text"]).length]).toEqual([token, manner.bytes]);
  return "result";
}

/** Lets many clients ask at once; says what became of every call. */
async function crowd(random: Random, manners: (random: Random) => Manner): Promise<("result" | "error")[]> {
  const all = await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      await delay(random.below(50));
      const asked = Array.from({ length: 1 + random.below(4) }, () => makeUp(random, manners));
      if (random.chance(0.2)) return leave(asked[0], random).then(() => []);
      const answers = await askAll(asked, random.chance(0.4));
      expect(answers).toHaveLength(asked.length);
      return asked.map((each, nth) => check(each, messagesIn(answers[nth].body)));
    }),
  );
  expect(new Set(server.calls).size).toBe(server.calls.length); // nothing was sent twice
  return all.flat();
}

describe("over connections that many clients share", () => {
  test("every call gets its own answer where the server keeps its connections", async () => {
    gateway = await openGateway({ upstream: server.url });
    const random = createRandom(seed);
    for (let round = 0; round < 3; round++) {
      const ends = await crowd(random, goodManner);
      expect(new Set(ends)).toEqual(new Set(["result"]));
    }
    expect(server.open()).toBeLessThanOrEqual(65); // those that are kept, and one that watches
    await expectNothingLeft();
  });

  test("every call gets its own answer or an error, whatever the server does to its connections", async () => {
    gateway = await openGateway({ upstream: server.url, onLoss: "keep" });
    const random = createRandom(seed + 1);
    for (let round = 0; round < 3; round++) await crowd(random, anyManner);
    await delay(100); // the last of them are closed, and that is seen
    // It has recovered from all of that.
    const asked = makeUp(random, goodManner);
    const [answer] = await askAll([asked], false);
    expect(check(asked, messagesIn(answer.body))).toBe("result");
    await expectNothingLeft();
  });

  test.each([
    ["keeps its connections", goodManner],
    ["does anything to its connections", anyManner],
  ])(
    "so does a client on stdin and stdout that reads in fits and starts, before a server that %s",
    async (_, manners) => {
      const client = await beNear({ upstream: server.url, onLoss: "keep" });
      const random = createRandom(seed + 2);
      await client.begin();
      const timer = setInterval(() => (random.chance(0.5) ? client.output.pause() : client.output.resume()), 15);
      const asked = Array.from({ length: 80 }, () => makeUp(random, manners));
      const answers = await Promise.all(
        asked.map(async ({ id, token, manner }) => {
          await delay(random.below(300));
          const params = { name: "echo", arguments: { token, manner } };
          return client.ask({ id, method: "tools/call", params });
        }),
      );
      clearInterval(timer);
      client.output.resume();
      const ends = asked.map((each, nth) => check(each, [answers[nth]]));
      if (manners === goodManner) expect(new Set(ends)).toEqual(new Set(["result"]));
      expect(client.heard.filter(({ id }) => id !== undefined)).toEqual([]); // nobody was answered twice
      await becomes(() => answerMemory.taken === 0);
      client.proxy.stop();
      await client.proxy.ended;
      await becomes(() => server.open() === 0);
      await server.close();
      await becomes(() => sockets() <= handlesBefore);
    },
  );
});
