import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ProxyHappening } from "../../src/proxy/happenings.ts";
import { createProxy, openProxy } from "../../src/proxy/proxy.ts";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { createWorld } from "../../src/proxy/chain-services.ts";
import { createLog, SILENT_LOG } from "../../src/record/log/log.ts";
import type { Happening } from "../../src/record/observers.ts";
import { createWitness } from "../../src/record/witness.ts";
import type { HoldRequest } from "../../src/store/holds.ts";
import { INITIALIZE, type NearGateway, openGateway } from "../support/near-gateway.ts";
import { readSettings } from "../support/rules.ts";
import { becomes, beNear, type NearClient, replyWith, resultFor, startScripted } from "../support/scripted-http.ts";
import { startSse } from "../support/sse-server.ts";
import { fixture } from "../support/processes.ts";
import { talkSse } from "../support/wire-talk.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

let closing: (() => unknown)[];
let seen: ProxyHappening[];
beforeEach(() => {
  closing = [];
  seen = [];
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

const observers = [(happening: ProxyHappening): void => void seen.push(happening)];

async function begin(options: ProxyOptions = {}): Promise<NearGateway> {
  const gateway = await openGateway({ timeouts: { drain: 300 }, observers, ...options });
  closing.push(() => gateway.end());
  return gateway;
}

async function beginNear(options: ProxyOptions): Promise<NearClient> {
  const near = await beNear({ observers, ...options });
  closing.push(async () => {
    near.proxy.stop();
    await near.proxy.ended;
  });
  return near;
}

type SessionHappening = Extract<ProxyHappening, { at: "session" }>;

/** The sessions that were heard of, with how they went. */
function sessions(): readonly SessionHappening[] {
  return seen.filter((happening) => happening.at === "session");
}

const states = (): string[] => sessions().map(({ state }) => state);
const CLIENT = { name: "tester", version: "1" };
const REVISION = "2025-11-25";

describe("a session is opened, introduced and closed once, and says who speaks in it", () => {
  test("between a client and a child on stdio", async () => {
    const near = await beginNear({ command: fixture("obliging.mjs") });
    expect(sessions()).toMatchObject([
      { state: "opened", who: { client: null, revision: null, identity: null, mcpSession: null, transport: "stdio" } },
    ]);
    await near.begin();
    near.input.end();
    await near.proxy.ended;
    expect(states()).toEqual(["opened", "introduced", "closed"]);
    const [{ who: first }, ...others] = sessions();
    for (const { who } of others) expect(who).toEqual({ ...first, client: CLIENT, revision: REVISION });
    expect(first.server).toContain("obliging.mjs");
    expect(seen.map(({ at }) => at).slice(0, 2)).toEqual(["session", "judged"]);
  });

  test("between a client on stdio and a server at a URL, whose id it gets", async () => {
    const server = await startScripted(() => {});
    closing.push(() => server.close());
    const near = await beginNear({ upstream: server.url });
    await near.begin();
    near.input.end();
    await near.proxy.ended;
    expect(sessions()).toMatchObject([
      { state: "opened", who: { transport: "stdio", mcpSession: null, server: server.url } },
      { state: "introduced", who: { client: CLIENT, revision: REVISION, mcpSession: "s1" } },
      { state: "closed", who: { client: CLIENT, mcpSession: "s1" } },
    ]);
  });

  test("that we host before a child", async () => {
    const gateway = await begin();
    const session = await gateway.open();
    const id = session["Mcp-Session-Id"];
    await gateway.send({ method: "DELETE", headers: session });
    expect(sessions()).toMatchObject([
      { state: "opened", who: { transport: "streamable-http", mcpSession: id, client: null } },
      { state: "introduced", who: { mcpSession: id, client: CLIENT, revision: REVISION } },
      { state: "closed", who: { mcpSession: id, client: CLIENT } },
    ]);
    await gateway.end();
    expect(states()).toEqual(["opened", "introduced", "closed"]);
  });

  test("that we host by the older transport", async () => {
    const gateway = await begin();
    const talk = await talkSse(`${gateway.url}/sse`);
    await talk.ask(JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE }));
    await talk.end();
    await becomes(() => states().includes("closed"));
    expect(sessions()).toMatchObject([
      { state: "opened", who: { transport: "sse" } },
      { state: "introduced", who: { transport: "sse", client: CLIENT } },
      { state: "closed" },
    ]);
  });

  test("that could not be given a server is closed again", async () => {
    const server = await startSse({});
    closing.push(() => server.server.close());
    const gateway = await begin({ upstream: server.url, onLoss: "keep" });
    server.server.close();
    expect(await gateway.post(INITIALIZE)).toMatchObject({ status: 502 });
    expect(states()).toEqual(["opened", "closed"]);
  });

  test("by Streamable HTTP on both sides: it begins when the server gives it an id", async () => {
    const server = await startScripted(() => {});
    closing.push(() => server.close());
    const gateway = await begin({ upstream: server.url });
    const session = await gateway.open();
    expect(seen.map(({ at }) => at).slice(0, 2)).toEqual(["judged", "session"]);
    await gateway.send({ method: "DELETE", headers: session });
    await becomes(() => states().includes("closed"));
    expect(sessions()).toMatchObject([
      { state: "opened", who: { transport: "streamable-http", mcpSession: "s1", server: server.url } },
      { state: "introduced", who: { mcpSession: "s1", client: CLIENT, revision: REVISION } },
      { state: "closed", who: { mcpSession: "s1", client: CLIENT } },
    ]);
  });

  test("by Streamable HTTP on both sides, where it is still open when we end", async () => {
    const server = await startScripted(() => {});
    closing.push(() => server.close());
    const gateway = await begin({ upstream: server.url });
    await gateway.open();
    await gateway.end();
    expect(states()).toEqual(["opened", "introduced", "closed"]);
  });

  test("by Streamable HTTP on both sides, where there are too many and the one unused for longest is forgotten", async () => {
    let opened = 0;
    const server = await startScripted(({ message, response }) => {
      if (message.method !== "initialize") return false;
      replyWith(response, resultFor(message), { "Mcp-Session-Id": `s${++opened}` });
      return true;
    });
    closing.push(() => server.close());
    const gateway = await begin({ upstream: server.url, limits: { maxSessions: 1 } });
    await gateway.open();
    await gateway.open();
    expect(sessions().map(({ state, who }) => [state, who.mcpSession])).toEqual([
      ["opened", "s1"],
      ["introduced", "s1"],
      ["opened", "s2"],
      ["closed", "s1"],
      ["introduced", "s2"],
    ]);
  });

  test("by HTTP+SSE on both sides", async () => {
    const server = await startSse({});
    closing.push(() => server.server.close());
    const gateway = await begin({ upstream: server.url });
    const talk = await talkSse(`${gateway.url}/sse`);
    await talk.ask(JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE }));
    await talk.end();
    await becomes(() => states().includes("closed"));
    expect(sessions()).toMatchObject([
      { state: "opened", who: { transport: "sse", server: server.url } },
      { state: "introduced", who: { transport: "sse", client: CLIENT } },
      { state: "closed" },
    ]);
  });
});

describe("what belongs to no session announces none", () => {
  const CLAIM = { "io.modelcontextprotocol/clientInfo": CLIENT };

  test.each(["a child", "a URL"])(
    "as a request of 2026-07-28 before %s: it is judged, and says who sent it",
    async (where) => {
      const server = where === "a child" ? null : await startScripted(() => {});
      if (server !== null) closing.push(() => server.close());
      const gateway = await begin(server === null ? {} : { upstream: server.url });
      await gateway.call(1, "echo", {}, CLAIM);
      await becomes(() => seen.filter(({ at }) => at === "judged").length >= 2);
      expect(seen[0]).toMatchObject({ at: "judged", event: { method: "tools/call", client: CLIENT, direction: "up" } });
      await gateway.end();
      expect(sessions()).toEqual([]);
    },
  );

  test("as a handshake with a server that gives no id", async () => {
    const server = await startScripted(({ message, response }) => {
      if (message.method !== "initialize") return false;
      const result = { protocolVersion: REVISION, capabilities: {}, serverInfo: { name: "s", version: "1" } };
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
      return true;
    });
    closing.push(() => server.close());
    const gateway = await begin({ upstream: server.url });
    expect(await gateway.post(INITIALIZE)).toMatchObject({ status: 200 });
    await gateway.end();
    expect(sessions()).toEqual([]);
  });
});

test("a program hears of what its policy does, and of another policy", async () => {
  const policy = await readSettings("tools: { deny: [^delete_] }");
  const near = await beginNear({ command: fixture("obliging.mjs"), policy });
  await near.begin();
  await near.ask({ id: 1, method: "tools/call", params: { name: "delete_all" } });
  await near.proxy.reload(await readSettings("tools: { deny: [^drop_] }"));
  expect(seen).toContainEqual(
    expect.objectContaining({
      at: "judged",
      event: expect.objectContaining({
        tool: "delete_all",
        verdict: "deny",
        rule: "tools",
        server: expect.any(String) as string,
      }) as object,
    }),
  );
  expect(seen.at(-1)).toEqual({ at: "policy", version: near.proxy.policyVersion });
});

test("parts of ours see the turn itself, before the observers of the program", async () => {
  const input = new PassThrough();
  const order: string[] = [];
  const proxy = await openProxy(
    {
      command: fixture("obliging.mjs"),
      log: null,
      client: { input, output: new PassThrough().resume() },
      observers: [({ at }) => void order.push(`program ${at}`)],
    },
    { observers: [(happening) => void order.push("turn" in happening ? "turn" : happening.at)] },
  );
  input.end(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
  await proxy.ended;
  expect(order).toEqual(["session", "program session", "turn", "program judged", "session", "program session"]);
});

test("parts of ours see which message waits for a person, and how that ends", async () => {
  const reporter = { report: () => {}, end: () => {} };
  const clocks = { time: () => 0, now: () => 0 };
  const witness = createWitness({ reporter, audit: null, auditAll: false, ...clocks });
  const happenings: Happening[] = [];
  witness.observe((happening) => happenings.push(happening));
  const { now } = clocks;
  const world = createWorld({ log: SILENT_LOG, reporter, witness, folder: ".", fork: () => null, now });
  closing.push(() => world.destroy());
  const held = world.services.hold(HELD, new AbortController().signal);
  const [{ id }] = world.holds.list();
  world.holds.decide(id, { do: "allow" }, "alice");
  const end = await held;
  expect(happenings).toEqual([
    { at: "held", held: expect.objectContaining({ id, rule: "rule:ask", session: "s1" }) as object },
    { at: "released", held: expect.objectContaining({ id }) as object, end },
  ]);
  expect(end).toMatchObject({ by: "decision", who: "alice" });
});

const HELD: HoldRequest = {
  server: "npx one",
  session: "s1",
  identity: null,
  client: null,
  direction: "up",
  method: "tools/call",
  tool: "pay",
  rule: "rule:ask",
  ask: null,
  message: Buffer.from("{}"),
  timeoutMs: 60_000,
  atDeadline: "deny",
  check: () => null,
};

test("a line of the log that concerns one server says which", async () => {
  const lines: string[] = [];
  const log = createLog({ level: "debug", write: (line) => void lines.push(line) });
  const gateway = await begin({ log });
  const { status } = await gateway.post(
    { id: 1, method: "tools/call", params: { name: "die", arguments: {} } },
    await gateway.open(),
  );
  expect(status).toBe(200);
  await becomes(() => lines.some((line) => line.includes("a server ended")));
  expect(lines.find((line) => line.includes(" a server ended "))).toMatch(/ server=".*obliging\.mjs"\n$/);
});

test("observers have to be functions", async () => {
  const options = { command: ["true"], observers: [{}] } as unknown as ProxyOptions;
  await expect(createProxy(options)).rejects.toMatchObject({
    code: "BAD_USAGE",
    message: "observers must be a list of functions",
  });
});
