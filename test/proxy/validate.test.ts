import { afterEach, describe, expect, test } from "vitest";
import { createLog } from "../../src/index.ts";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { openGateway } from "../support/near-gateway.ts";
import { readSettings } from "../support/rules.ts";
import { beNear, beginEvents, type NearClient, startScripted } from "../support/scripted-http.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const outputSchema = { type: "object", properties: { sum: { type: "number", pattern: "x" } }, required: ["sum"] };
const TOOLS = { tools: [{ name: "add", inputSchema: { type: "object" }, outputSchema }] };
const WRONG = { content: [], structuredContent: { sum: "1" } };
const RIGHT = { content: [], structuredContent: { sum: 1 } };
const INVALID = { code: -32000, message: "Invalid response" };

/** A server that answers calls with what they ask for, as a body or as an event. */
async function serve(): Promise<string> {
  const server = await startScripted(
    ({ message, response }) => {
      if (message.method !== "tools/call") return false;
      const { result, as } = (message.params?.["arguments"] ?? {}) as { result: object; as?: string };
      const body = JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
      if (as === "event") beginEvents(response)(`data: ${body}\n\n`);
      else response.writeHead(200, { "Content-Type": "application/json" }).write(body);
      response.end();
      return true;
    },
    { "tools/list": TOOLS },
  );
  ends.push(() => server.close());
  return server.url;
}

const call = (id: number, args: object): { id: number; method: string; params: Record<string, unknown> } => ({
  id,
  method: "tools/call",
  params: { name: "add", arguments: args },
});

async function near(options: ProxyOptions): Promise<NearClient> {
  const client = await beNear({ upstream: await serve(), ...options });
  ends.push(() => client.proxy.stop());
  await client.begin();
  return client;
}

describe("validate: results", () => {
  test.each<[string, () => Promise<ProxyOptions>]>([
    ["as an option", async () => ({ validate: "results" })],
    ["in a policy", async () => ({ policy: await readSettings("validate: results") })],
  ])("%s: a result that does not fit is an error", async (_, options) => {
    const lines: string[] = [];
    const log = createLog({ write: (line) => void lines.push(line) });
    const client = await near({ ...(await options()), log });
    expect((await client.ask(call(1, { result: WRONG }))).error).toEqual(INVALID);
    expect((await client.ask(call(2, { result: RIGHT }))).result).toEqual(RIGHT);
    expect((await client.ask(call(3, { result: { content: 5 } }))).error).toEqual(INVALID);
    const said = lines.join("");
    expect(said).toContain('why="structuredContent: sum is not a number"');
    expect(said).toContain('rule="validate:unchecked" tool="add" keywords="pattern"');
  });

  test.each(["body", "event"])("holds between clients and servers that come by HTTP, for a %s", async (as) => {
    const gateway = await openGateway({ upstream: await serve(), validate: "results" });
    ends.push(() => gateway.end());
    const session = await gateway.open();
    const wrong = await gateway.post(call(1, { result: WRONG, as }), session);
    expect(wrong.messages).toEqual([{ jsonrpc: "2.0", id: 1, error: INVALID }]);
    const right = await gateway.post(call(2, { result: RIGHT, as }), session);
    expect(right.messages).toEqual([{ jsonrpc: "2.0", id: 2, result: RIGHT }]);
  });

  test("comes and goes with the policy", async () => {
    const client = await near({ policy: await readSettings("validate: lists") });
    expect((await client.ask(call(1, { result: WRONG }))).result).toEqual(WRONG);
    await client.proxy.reload(await readSettings("validate: results"));
    expect((await client.ask(call(2, { result: WRONG }))).error).toEqual(INVALID);
    await client.proxy.reload(await readSettings("{}"));
    expect((await client.ask(call(3, { result: WRONG }))).result).toEqual(WRONG);
  });

  test("only watches where everything only watches", async () => {
    const client = await near({ validate: "results", observe: true });
    expect((await client.ask(call(1, { result: WRONG }))).result).toEqual(WRONG);
  });

  test("is not what nobody asked for", async () => {
    const client = await near({});
    expect((await client.ask(call(1, { result: { content: 5 } }))).result).toEqual({ content: 5 });
  });
});
