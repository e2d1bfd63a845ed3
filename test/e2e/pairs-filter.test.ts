import { describe, expect } from "vitest";
import { converseAlone, type Lead, type Sides, type Transport, TRANSPORTS } from "../support/pairs.ts";
import {
  call,
  initialize,
  INITIALIZED,
  MODERN,
  modernRequest,
  request,
  type Scene,
  scene,
  type Spoken,
  type Talk,
} from "../support/peers.ts";

const SERVERS = ["stdio", "http"] as const;

describe(`${MODERN.title}, with --deny, by every pair of transports`, () => {
  scene("2025-11-25: hidden tools are not listed, and cannot be told from tools that never were", async (stage) => {
    await filterBy(stage, TRANSPORTS, async (talk) => {
      await talk.ask(initialize());
      talk.write(INITIALIZED);
      await list(talk, (id, params) => request(id, "tools/list", params));
      for (const [id, name] of NAMES.entries()) await talk.ask(call(id + 50, name));
    });
  });

  scene("2026-07-28: the same", async (stage) => {
    await filterBy(stage, SERVERS, async (talk) => {
      await list(talk, (id, params) => modernRequest(id, "tools/list", params));
      for (const [id, name] of NAMES.entries())
        await talk.ask(modernRequest(id + 50, "tools/call", { name, arguments: {} }));
    });
  });
});

const NAMES = ["secret_read", "never_there", "fail"];

/** All pages. */
async function list(talk: Talk, compose: (id: number, params: object) => string): Promise<void> {
  let cursor: unknown;
  for (let id = 10; id < 20; id++) {
    const line = await talk.ask(compose(id, cursor === undefined ? {} : { cursor }));
    cursor = (JSON.parse(line) as Spoken).result?.["nextCursor"];
    if (cursor === undefined) return;
  }
}

async function filterBy(stage: Scene, clients: readonly Transport[], lead: Lead): Promise<void> {
  const pairs = SERVERS.flatMap((server) => clients.map((client) => [client, server] as const));
  await Promise.all(
    pairs.map(async (pair) => {
      const sides = await converseAlone(stage, "modern", pair, lead, "--deny", "^secret_");
      check(pair.join(" → "), sides);
    }),
  );
}

function check(pair: string, { client, server }: Sides): void {
  const heard = client.down.flat().map((line) => JSON.parse(Buffer.from(line, "latin1").toString()) as Spoken);
  const tools = heard.flatMap(({ result }) => (result?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name);
  expect({ pair, tools }).toEqual({ pair, tools: ["echo", "weather", "fail", "slow", "confirm", "grow"] });
  const answers = [50, 51].map((id) => client.down.flat().find((line) => line.includes(`"id":${id}`)));
  expect({ pair, answers }).toEqual({
    pair,
    answers: [
      '{"jsonrpc":"2.0","id":50,"error":{"code":-32601,"message":"Tool not found: secret_read"}}',
      '{"jsonrpc":"2.0","id":51,"error":{"code":-32601,"message":"Tool not found: never_there"}}',
    ],
  });
  expect(heard.find(({ id }) => id === 52)?.result).toMatchObject({ isError: true });
  const calls = server.up.filter((line) => line.includes('"tools/call"'));
  expect({ pair, calls: calls.length }).toEqual({ pair, calls: 1 });
  // What was learnt at the start is not asked for again. That was in the older era, which is tried first.
  const isOld = server.up.some((line) => line.includes('"initialize"'));
  const lists = server.up.filter((line) => line.includes('"tools/list"'));
  if (isOld && pair.endsWith("http")) expect({ pair, lists }).toEqual({ pair, lists: [] });
}
