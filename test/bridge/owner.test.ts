import { afterEach, describe, expect, test, vi } from "vitest";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { readSettings } from "../support/rules.ts";
import { INITIALIZE, type NearGateway, openGateway } from "../support/near-gateway.ts";
import { fixture } from "../support/processes.ts";
import { type Knock, replyWith, resultFor, startScripted } from "../support/scripted-http.ts";

vi.setConfig({ testTimeout: 30_000 });

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const TWO_A_MINUTE = `
interceptor:
  rules:
    - id: two
      conditions: [{ method_equals: ping }]
      actions: [{ rate_limit: { key: "\${session_id}", limit: 2, window: 1m } }]
`;

/** A server that gives no session, or one to everybody who begins. */
function server(gives: "none" | "sessions"): (knock: Knock) => boolean {
  let count = 0;
  return ({ method, message, headers, response }) => {
    if (method !== "POST" || message.id === undefined) return false;
    const isFirst = message.method === "initialize";
    const session = isFirst ? `given-${++count}` : headers["mcp-session-id"];
    const echoed = gives === "sessions" && typeof session === "string" ? { "Mcp-Session-Id": session } : {};
    if (message.method === "no/such") {
      const error = { code: -32601, message: "Method not found" };
      replyWith(response, { jsonrpc: "2.0", id: message.id, error }, echoed, 404);
    } else replyWith(response, resultFor(message), echoed);
    return true;
  };
}

async function begin(gives: "none" | "sessions", listen: Partial<ProxyOptions["listen"]> = {}): Promise<NearGateway> {
  const { url, close } = await startScripted(server(gives));
  const policy = await readSettings(TWO_A_MINUTE);
  const gateway = await openGateway({ upstream: url, policy, listen: { port: 0, ...listen } });
  ends.push(() => gateway.end(), close);
  return gateway;
}

let id = 100;

/** How many of so many pings pass, each with its headers. */
async function passing(gateway: NearGateway, count: number, headers: () => Record<string, string>): Promise<number> {
  let passed = 0;
  for (let nth = 0; nth < count; nth++) {
    const { messages } = await gateway.post({ id: ++id, method: "ping" }, headers());
    if (messages[0]?.result !== undefined) passed++;
  }
  return passed;
}

const close = { Connection: "close" };

describe("before a server that gives no session a limit holds for the address", () => {
  test("whatever the connection", async () => {
    const gateway = await begin("none");
    expect(await passing(gateway, 20, () => close)).toBe(2);
  });

  test("whatever session the client invents", async () => {
    const gateway = await begin("none");
    expect(await passing(gateway, 20, () => ({ ...close, "Mcp-Session-Id": `invented-${id}` }))).toBe(2);
    expect(await passing(gateway, 5, () => ({ "Mcp-Session-Id": "invented" }))).toBe(0);
  });

  test("whatever session the client invents, where the server repeats it", async () => {
    const gateway = await begin("sessions");
    expect(await passing(gateway, 20, () => ({ ...close, "Mcp-Session-Id": `invented-${id % 5}` }))).toBe(2);
  });

  test("whatever token the client invents, where nobody checks it", async () => {
    const gateway = await begin("none");
    expect(await passing(gateway, 20, () => ({ Authorization: `Bearer invented-${id}` }))).toBe(2);
  });

  test("and for whom we let in, for each of them", async () => {
    const tokens = ["ada", "bob"].map((name) => ({ name, token: `${name}-0123456789abcdef` }));
    const gateway = await begin("none", { auth: { tokens } });
    for (const { token } of tokens)
      expect(await passing(gateway, 20, () => ({ Authorization: `Bearer ${token}` }))).toBe(2);
  });

  test("and for whom a trusted header names, for each of them", async () => {
    const gateway = await begin("none", { identityHeader: "X-Forwarded-User" });
    expect(await passing(gateway, 20, () => ({ "X-Forwarded-User": "ada" }))).toBe(2);
    expect(await passing(gateway, 20, () => ({ "x-forwarded-user": "bob" }))).toBe(2);
    expect(await passing(gateway, 20, () => ({}))).toBe(2);
  });
});

async function open(gateway: NearGateway, headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const reply = await gateway.post(INITIALIZE, headers);
  return { ...headers, "Mcp-Session-Id": reply.headers.get("mcp-session-id") ?? "" };
}

describe("in a session that the server gave", () => {
  test("a limit holds for the session", async () => {
    const gateway = await begin("sessions");
    const [one, other] = [await open(gateway), await open(gateway)];
    expect(await passing(gateway, 10, () => one)).toBe(2);
    expect(await passing(gateway, 10, () => other)).toBe(2);
  });

  test("or for whoever opened it, where that is known: another session is not a fresh limit", async () => {
    const gateway = await begin("sessions", { identityHeader: "X-User" });
    const [one, other] = [await open(gateway, { "X-User": "ada" }), await open(gateway, { "X-User": "ada" })];
    expect(await passing(gateway, 10, () => one)).toBe(2);
    expect(await passing(gateway, 10, () => other)).toBe(0);
  });

  test("a method that the server answers with 404 does not begin the limit anew", async () => {
    const gateway = await begin("sessions");
    const session = await open(gateway);
    expect(await passing(gateway, 10, () => session)).toBe(2);
    const unknown = await gateway.post({ id: ++id, method: "no/such" }, session);
    expect(unknown.status).toBe(404);
    expect(await passing(gateway, 10, () => session)).toBe(0);
  });
});

test("the header that names the client must stand once, and in one spelling", async () => {
  const gateway = await begin("none", { identityHeader: "X-User" });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const ask = (headers: [string, string][]): Promise<Response> =>
    gateway.send({ method: "POST", headers: [["Content-Type", "application/json"], ...headers], body });
  expect((await ask([["X-User", "ada"]])).status).toBe(200);
  for (const header of [
    ["X_User", "bob"],
    // What stands for a client without a name is not a name.
    ["X-User", "address:127.0.0.1"],
    ["X-User", "x".repeat(257)],
  ] as const)
    expect((await ask([[...header]])).status, header.join()).toBe(400);
  expect((await ask([["X-User", "x".repeat(256)]])).status).toBe(200);
});

describe("a session belongs to whom the header named when it was opened", () => {
  const ping = { id: 1, method: "ping" };

  test.each(["none", "sessions"] as const)("before a server at a URL that gives %s", async (gives) => {
    const gateway = await begin(gives, { identityHeader: "X-User" });
    const session = await open(gateway, { "X-User": "ada" });
    if (gives === "none") return expect(session["Mcp-Session-Id"]).toBe("");
    expect((await gateway.post(ping, session)).status).toBe(200);
    expect((await gateway.post(ping, { ...session, "X-User": "bob" })).status).toBe(404);
    const { "X-User": _, ...nameless } = session;
    expect((await gateway.post(ping, nameless)).status).toBe(404);
    expect((await gateway.post(ping, session)).status).toBe(200);
  });

  test("before a server that is a command", async () => {
    const gateway = await openGateway({
      command: fixture("good.mjs"),
      listen: { port: 0, identityHeader: "X-User" },
    });
    ends.push(() => gateway.end());
    const session = await open(gateway, { "X-User": "ada" });
    expect((await gateway.post(ping, session)).status).toBe(200);
    expect((await gateway.post(ping, { ...session, "X-User": "bob" })).status).toBe(404);
  });
});

test("a header that says something else already cannot name the client", async () => {
  for (const name of ["Authorization", "Mcp-Session-Id", "Host", "X-Forwarded-For", "Forwarded", "two words"]) {
    await expect(begin("none", { identityHeader: name })).rejects.toThrow("cannot name the client");
  }
});
