import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createLog } from "../../src/record/log.ts";
import { beNear, becomes, type NearClient, type ScriptedServer, startScripted } from "../support/scripted-http.ts";

let server: ScriptedServer;
let client: NearClient;

afterEach(async () => {
  client.output.resume();
  client.proxy.stop();
  await client.proxy.ended;
  await server.close();
});

const ask = (id: number): string => `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}\n`;

test("a chunk of a thousand short questions with long answers of ours is answered as fast as they are read", async () => {
  const description = "x".repeat(100_000);
  const tools = [{ name: "echo", description, inputSchema: { type: "object" } }];
  server = await startScripted(() => false, { "tools/list": { tools } });
  client = await beNear({ upstream: server.url, deny: ["^none$"] });
  await client.begin();
  client.output.pause();
  client.input.write(Array.from({ length: 1000 }, (_, nth) => ask(nth + 1)).join(""));
  await delay(100);
  expect(client.output.readableLength + client.output.writableLength).toBeLessThan(1_000_000);
  client.output.resume();
  await becomes(() => client.heard.length >= 1000, 20_000);
  expect(client.heard.map(({ id }) => id)).toEqual(Array.from({ length: 1000 }, (_, nth) => nth + 1));
});

test("lines of nothing but space are passed over, and no others", async () => {
  server = await startScripted(() => false);
  const troubles: string[] = [];
  const log = createLog({ level: "warn", format: "json", write: (line) => void troubles.push(line) });
  client = await beNear({ upstream: server.url, log });
  await client.begin();
  client.input.write(" \t\r\n\n\u0001\n");
  await client.ask({ id: 1, method: "ping" });
  expect(troubles.filter((line) => line.includes("strict:not-json")).length).toBe(1);
});

/** Asks for a large answer, closes, and reads nothing of it. */
async function leaveUnread(slowReader: number): Promise<() => boolean> {
  server = await startScripted(() => false, { "tools/call": { text: "x".repeat(500_000) } });
  client = await beNear({ upstream: server.url, timeouts: { slowReader } });
  await client.begin();
  client.output.pause();
  client.say({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo" } });
  await becomes(() => client.output.writableLength > 400_000);
  client.input.end();
  let isOver = false;
  void client.proxy.ended.then(() => (isOver = true));
  return () => isOver;
}

describe("a client that has closed its side, and has not read all", () => {
  test("is waited for as long as it reads, however slowly, and no longer than that", async () => {
    const isOver = await leaveUnread(10_000);
    await delay(2500);
    expect(isOver()).toBe(false);
    client.output.resume();
    await client.hear(({ id }) => id === 1);
    await becomes(isOver);
  });

  test("is given up when it takes nothing for too long", async () => {
    const isOver = await leaveUnread(200);
    await becomes(isOver);
  });

  test("is not waited for when we are told to end", async () => {
    const isOver = await leaveUnread(60_000);
    client.proxy.stop();
    await becomes(isOver);
  });
});
