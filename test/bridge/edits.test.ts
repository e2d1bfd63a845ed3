import { afterEach, expect, test, vi } from "vitest";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { INITIALIZE, openGateway } from "../support/near-gateway.ts";
import type { Spoken } from "../support/peers.ts";
import { fixture } from "../support/processes.ts";
import { readSettings } from "../support/rules.ts";
import { beginEvents, beNear, becomes, startScripted } from "../support/scripted-http.ts";
import { startSse } from "../support/sse-server.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** Every note becomes another one, whoever sends it and by which kind of message. */
const EDITING = `
interceptor:
  rules:
    - id: params
      conditions: [{ param_exists: note }]
      actions: [{ set_param: { field: note, value: edited } }]
    - id: results
      conditions: [{ result_exists: note }]
      actions: [{ set_result: { field: note, value: edited } }]
`;

/** What the server of each kind says: see gossip.mjs. */
function gossip(): (message: Spoken, say: (said: object) => void) => void {
  const heard: string[] = [];
  return ({ id, method, params = {} }, say) => {
    if (params["note"] !== undefined) heard.push(`${method} ${params["note"] as string}`);
    if (id === undefined || method === undefined || !method.startsWith("x/")) return;
    const { progressToken } = (params["_meta"] ?? {}) as { progressToken?: unknown };
    const told = { progressToken, progress: 1, note: "raw" };
    say({ jsonrpc: "2.0", method: "notifications/progress", params: told });
    say({ jsonrpc: "2.0", id, result: { heard, note: "raw" } });
  };
}

const SERVERS: Record<string, () => Promise<ProxyOptions>> = {
  stdio: async () => ({ command: fixture("gossip.mjs") }),
  async http() {
    const respond = gossip();
    const server = await startScripted(({ method, message, response }) => {
      if (method === "GET" || message.id === undefined) return respond(message, () => {});
      if (message.method?.startsWith("x/") !== true) return false;
      const send = beginEvents(response);
      respond(message, (said) => send(`data: ${JSON.stringify(said)}\n\n`));
      response.end();
      return true;
    });
    ends.push(() => server.close());
    return { upstream: server.url };
  },
  async sse() {
    const respond = gossip();
    const { server, url } = await startSse({
      hear({ message = {} }, stream) {
        respond(message as Spoken, (said) => stream.chunk(`data: ${JSON.stringify(said)}\n\n`));
        return message.method?.startsWith("x/") === true;
      },
    });
    ends.push(() => server.close());
    return { upstream: url };
  },
};

/** How a client sends, and all that it hears. */
interface Speaker {
  notify(message: object): Promise<void>;
  ask(message: Spoken): Promise<readonly Spoken[]>;
}

const CLIENTS: Record<string, (options: ProxyOptions) => Promise<Speaker>> = {
  async stdio(options) {
    const client = await beNear(options);
    ends.push(() => client.proxy.stop());
    await client.begin();
    return {
      notify: async (message) => client.say({ jsonrpc: "2.0", ...message }),
      async ask(message) {
        client.say({ jsonrpc: "2.0", ...message });
        await becomes(() => client.heard.some(({ id }) => id === message.id));
        return client.heard;
      },
    };
  },
  async "http with a session"(options) {
    const gateway = await openGateway({ ...options, listen: { port: 0 } });
    ends.push(() => gateway.end());
    const session = await gateway.open();
    return {
      notify: async (message) => void (await gateway.post(message, session)),
      ask: async (message) => (await gateway.post(message, session)).messages,
    };
  },
  async "http without a session"(options) {
    const gateway = await openGateway({ ...options, listen: { port: 0 } });
    ends.push(() => gateway.end());
    const version = "2026-07-28";
    const post = (message: Spoken) => {
      const meta = {
        ...(message.params?.["_meta"] as object | undefined),
        "io.modelcontextprotocol/protocolVersion": version,
      };
      const headers = { "MCP-Protocol-Version": version, "Mcp-Method": message.method ?? "" };
      return gateway.post({ ...message, params: { ...message.params, _meta: meta } }, headers);
    };
    return {
      notify: async (message) => void (await post(message)),
      ask: async (message) => (await post(message)).messages,
    };
  },
  async sse(options) {
    const gateway = await openGateway({ ...options, listen: { port: 0 } });
    ends.push(() => gateway.end());
    const response = await gateway.send({ method: "GET", path: "/sse", headers: { Accept: "text/event-stream" } });
    let text = "";
    void (async () => {
      for await (const chunk of response.body ?? []) text += Buffer.from(chunk as Uint8Array).toString("utf8");
    })().catch(() => {});
    const heard = (): Spoken[] =>
      [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data) as Spoken);
    await becomes(() => text.includes("/messages"));
    const path = /\/messages\S*/.exec(text)?.[0] ?? "";
    const post = async (message: object): Promise<void> => {
      const headers = { "Content-Type": "application/json", Accept: "application/json" };
      const body = JSON.stringify({ jsonrpc: "2.0", ...message });
      await (await gateway.send({ method: "POST", path, headers, body })).text();
    };
    const ask = async (message: Spoken): Promise<readonly Spoken[]> => {
      await post(message);
      await becomes(() => heard().some(({ id }) => id === message.id));
      return heard();
    };
    await ask(INITIALIZE);
    await post({ method: "notifications/initialized" });
    return { notify: post, ask };
  },
};

// A server of 2024-11-05 knows no requests without a session.
const PAIRS = Object.keys(SERVERS).flatMap((server) =>
  Object.keys(CLIENTS)
    .filter((client) => server !== "sse" || client !== "http without a session")
    .map((client) => [client, server] as const),
);

test.each(PAIRS)("what a rule changes leaves changed, from %s to %s", async (client, server) => {
  const policy = await readSettings(EDITING);
  const speaker = await CLIENTS[client]({ ...(await SERVERS[server]()), policy });
  // The shared process of clients without a session is started by the first request.
  await speaker.ask({ id: 1, method: "x/first", params: { _meta: { progressToken: 1 } } });
  await speaker.notify({ method: "x/notified", params: { note: "raw" } });
  const params = { note: "raw", _meta: { progressToken: 2 } };
  const messages = await speaker.ask({ id: 2, method: "x/asked", params });
  expect(JSON.stringify(messages)).not.toContain("raw");
  const progress = messages.find(({ method }) => method === "notifications/progress");
  expect(progress?.params).toMatchObject({ note: "edited" });
  const answer = messages.find(({ id }) => id === 2);
  expect(answer?.result).toEqual({ heard: ["x/notified edited", "x/asked edited"], note: "edited" });
});
