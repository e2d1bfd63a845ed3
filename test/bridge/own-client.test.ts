import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createOwnClient, type OwnClient } from "../../src/bridge/own-client.ts";
import { BODIES } from "../../src/bridge/server-end.ts";
import { whole } from "../../src/message/message.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A client of ours and a server that answers at once. After the first list it may say something more. */
function meet(tools: string, afterwards: string | null = null) {
  let lists = 0;
  const client: OwnClient = createOwnClient({
    exchange: BODIES,
    greetMs: 1000,
    listMs: 1000,
    version: "0",
    send(payload) {
      const { id, method } = JSON.parse(payload.toString()) as { id?: string; method: string };
      if (id === undefined) return;
      if (method === "initialize") return client.receive(whole(answer(`{"capabilities":${tools}}`, id)));
      client.receive(whole(answer(`{"tools":[{"name":"tool${++lists}","inputSchema":{}}]}`, id)));
      if (lists === 1 && afterwards !== null) setTimeout(() => client.receive(whole(Buffer.from(afterwards))), 50);
    },
  });
  return client;
}

function answer(result: string, id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
}

async function list(client: OwnClient): Promise<string[]> {
  const { tools } = await client.listTools(await client.greet("stateful"));
  return tools.map(({ name }) => name);
}

test.each(['{"tools":{}}', '{"tools":{"listChanged":false}}'])(
  "a server that never says its tools change is not waited for: %s",
  async (capabilities) => {
    expect(await list(meet(capabilities))).toEqual(["tool1"]); // no timer goes off
  },
);

test.each(['{"tools":{"listChanged":true}}', '{"tools":true}'])(
  "one that may is listened to for a while: %s",
  async (capabilities) => {
    const listing = list(meet(capabilities, '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await listing).toEqual(["tool2"]);
  },
);
