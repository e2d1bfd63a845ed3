import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import type { AuditEvent } from "../../src/record/event.ts";
import { INITIALIZE, type NearGateway, openGateway } from "../support/near-gateway.ts";
import { readSettings } from "../support/rules.ts";
import { beNear, type NearClient, startScripted } from "../support/scripted-http.ts";
import { startSse } from "../support/sse-server.ts";
import { talkSse } from "../support/wire-talk.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

let closing: (() => unknown)[];
let events: AuditEvent[];
beforeEach(() => {
  closing = [];
  events = [];
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

const audit = (event: AuditEvent): void => void events.push(event);

async function begin(options: ProxyOptions = {}): Promise<NearGateway> {
  const gateway = await openGateway({ timeouts: { drain: 300 }, audit, ...options });
  closing.push(() => gateway.end());
  return gateway;
}

/** A client on stdin and stdout, before a server at a URL. */
async function beginNear(upstream: string): Promise<NearClient> {
  const near = await beNear({ upstream, audit });
  closing.push(async () => {
    near.proxy.stop();
    await near.proxy.ended;
  });
  await near.begin();
  return near;
}

const ping = { id: 5, method: "ping" };
const CALL = { id: 7, method: "tools/call", params: { name: "echo", arguments: {} } };
const TOKENS = { tokens: [{ name: "alice", token: "0123456789abcdef0123456789abcdef" }] };
const ALICE = { Authorization: "Bearer 0123456789abcdef0123456789abcdef" };

describe("an event of a client that comes by HTTP says who it was", () => {
  test("in a session of ours", async () => {
    const gateway = await begin({ listen: { port: 0, auth: TOKENS } });
    const { headers } = await gateway.post(INITIALIZE, ALICE);
    const id = headers.get("mcp-session-id") ?? "";
    await gateway.post(CALL, { ...ALICE, "Mcp-Session-Id": id });
    expect(events).toMatchObject([
      {
        method: "tools/call",
        identity: "alice",
        client: { name: "tester", version: "1" },
        mcpSession: id,
        server: expect.stringContaining("obliging.mjs") as string,
        policy: expect.stringMatching(/^[0-9a-f]{12}$/) as string,
      },
    ]);
  });

  test("in a session of the server's", async () => {
    const server = await startScripted(() => {});
    closing.push(() => server.close());
    const gateway = await begin({ upstream: server.url.replace("//", "//user:password@") });
    await gateway.post(CALL, await gateway.open());
    expect(events.at(-1)).toMatchObject({
      method: "tools/call",
      identity: "address:127.0.0.1",
      client: { name: "tester" },
      mcpSession: "s1",
      server: server.url,
    });
  });

  test("by the older transport at both ends", async () => {
    const older = await startSse({});
    closing.push(() => older.server.close());
    const gateway = await begin({ upstream: older.url, auditAll: true });
    const talk = await talkSse(`${gateway.url}/sse`);
    await talk.ask(JSON.stringify({ jsonrpc: "2.0", ...INITIALIZE }));
    await talk.end();
    expect(events[0]).toMatchObject({
      method: "initialize",
      mcpSession: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
  });
});

test("an event of a client on stdin has the session that the server gave", async () => {
  const server = await startScripted(() => {});
  closing.push(() => server.close());
  await (await beginNear(server.url)).ask(CALL);
  expect(events).toMatchObject([{ method: "tools/call", identity: null, mcpSession: "s1" }]);
});

describe("a login that is refused is an event", () => {
  test("by us, for want of a token or with a wrong one", async () => {
    const gateway = await begin({ listen: { port: 0, auth: TOKENS } });
    expect((await gateway.post(ping)).status).toBe(401);
    expect((await gateway.post(ping, { Authorization: "Bearer nonsense" })).status).toBe(401);
    const refused = { kind: "login", direction: "up", verdict: "deny", status: 401, address: "127.0.0.1" };
    const why = { rule: "http:unauthorized", reason: "Unauthorized", session: null };
    expect(events).toMatchObject([
      { ...refused, ...why },
      { ...refused, ...why },
    ]);
  });

  test("by us, because of where a page comes from", async () => {
    const gateway = await begin();
    expect((await gateway.post(ping, { Origin: "https://evil.example" })).status).toBe(403);
    expect(events).toMatchObject([
      { kind: "login", status: 403, rule: "http:origin", reason: "Invalid Origin header" },
    ]);
  });

  test.each([401, 403])("by the server, with status %i", async (status) => {
    const server = await startScripted(({ message, response }) => {
      if (message.method !== "tools/call") return false;
      response.writeHead(status).end();
      return true;
    });
    closing.push(() => server.close());
    const gateway = await begin({ upstream: server.url });
    const session = await gateway.open();
    expect((await gateway.post(CALL, session)).status).toBe(status);
    expect(events.filter(({ kind }) => kind === "login")).toMatchObject([
      { direction: "down", verdict: "pass", note: "login-refused", status, mcpSession: "s1", address: "127.0.0.1" },
    ]);
  });

  test("by the server, before a client on stdin", async () => {
    const server = await startScripted(({ message, response }) => {
      if (message.method !== "tools/call") return false;
      response.writeHead(401).end();
      return true;
    });
    closing.push(() => server.close());
    await (await beginNear(server.url)).ask(CALL);
    expect(events.filter(({ kind }) => kind === "login")).toMatchObject([
      { direction: "down", note: "login-refused", status: 401, mcpSession: "s1", address: null },
    ]);
  });

  test("by the server, at the start", async () => {
    const server = await startScripted(
      () => {},
      {},
      ({ response }) => {
        response.writeHead(401).end();
        return true;
      },
    );
    closing.push(() => server.close());
    await begin({ upstream: server.url });
    expect(events.length).toBeGreaterThan(0);
    expect(events[0]).toMatchObject({ kind: "login", note: "login-refused", status: 401, session: null });
  });
});

const policy = (owner: string): string => `interceptor:
  rules:
    - id: no-echo
      conditions: [{ method_equals: tools/call }]
      actions: [{ block: "no echo" }]
      metadata: { owner: ${owner} }
`;

test("after a reload events have the version of the new policy, and the metadata of its rules", async () => {
  const gateway = await begin({ policy: await readSettings(policy("ops")) });
  const session = await gateway.open();
  await gateway.post(CALL, session);
  await gateway.proxy.reload(await readSettings(policy("legal")));
  await gateway.post({ ...CALL, id: 8 }, session);
  const calls = events.filter(({ method }) => method === "tools/call");
  expect(calls).toMatchObject([
    { reason: "no echo", rule: "rule:no-echo", metadata: { owner: "ops" } },
    { reason: "no echo", rule: "rule:no-echo", metadata: { owner: "legal" } },
  ]);
  expect(calls[0].policy).not.toBe(calls[1].policy);
});
