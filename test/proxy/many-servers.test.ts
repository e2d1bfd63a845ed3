import { afterEach, expect, test } from "vitest";
import { joinSides, pathsBelow } from "../../src/bridge/client-side.ts";
import { openGateway } from "../../src/proxy/gateway.ts";
import { openHub } from "../../src/proxy/judging.ts";
import { readLimits } from "../../src/proxy/fit-limits.ts";
import { DEFAULT_TIMEOUTS } from "../../src/proxy/limits.ts";
import { createRemoteService } from "../../src/proxy/serve-remote.ts";
import { createChildService } from "../../src/proxy/serve-child.ts";
import { findRemote } from "../../src/proxy/remote.ts";
import { createLog } from "../../src/record/log/log.ts";
import { INITIALIZE, messagesIn, openGateway as openNear } from "../support/near-gateway.ts";
import { fixture } from "../support/processes.ts";

const SILENT = createLog({ level: "error", format: "text", write: () => {} });
const HEADERS = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** One door, with a process behind one base path and a server at a URL behind another, each with a policy of its own. */
async function openBoth(): Promise<string> {
  const shared = { log: SILENT, limits: readLimits({}, SILENT), timeouts: DEFAULT_TIMEOUTS };
  const listen = {
    host: "127.0.0.1",
    port: 0,
    tls: null,
    hosts: [],
    origins: [],
    gate: null,
    identityHeader: null,
    issuers: [],
    isInsecure: false,
  };
  const near = await openHub({ command: fixture("obliging.mjs"), deny: ["^echo$"] }, shared);
  const first = await createChildService({
    ...shared,
    paths: pathsBelow("/near"),
    hub: near,
    server: { command: fixture("obliging.mjs"), env: {}, cwd: undefined },
  });
  const origin = await openNear();
  const far = await openHub({ upstream: origin.url, deny: ["^die$"] }, shared);
  const server = await findRemote({
    ...shared,
    upstream: origin.url,
    headers: "",
    ca: null,
    version: "0",
    hub: far,
    loginDirectory: null,
    onChange: () => {},
  });
  const paths = pathsBelow("/far");
  const second = createRemoteService({ ...shared, paths, hub: far, server, isGuarded: false, isSecure: false });
  const service = { ...joinSides([first, second]), isReady: () => true, without: new Set<string>() };
  const door = await openGateway(listen, { ...shared, hub: near, paths }, service);
  ends.push(
    () => origin.end(),
    () => {
      door.close();
      service.destroy();
    },
  );
  return door.url;
}

async function toolsBy(url: string, path: string): Promise<string[]> {
  const send = async (message: object, headers = {}): Promise<Response> =>
    fetch(url + path, {
      method: "POST",
      headers: { ...HEADERS, ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const opened = await send(INITIALIZE);
  await opened.text();
  const session = { "Mcp-Session-Id": opened.headers.get("mcp-session-id") ?? "" };
  await (await send({ method: "notifications/initialized" }, session)).text();
  const [{ result }] = messagesIn(await (await send({ id: 1, method: "tools/list" }, session)).text());
  const tools = (result?.["tools"] ?? []) as { name: string }[];
  return tools.map(({ name }) => name);
}

test("two servers behind one door have paths, sessions and policies of their own", async () => {
  const url = await openBoth();
  const [near, far] = await Promise.all([toolsBy(url, "/near/mcp"), toolsBy(url, "/far/mcp")]);
  expect(near).toContain("die");
  expect(near).not.toContain("echo");
  expect(far).toContain("echo");
  expect(far).not.toContain("die");
  expect((await fetch(`${url}/mcp`, { method: "POST", headers: HEADERS, body: "{}" })).status).toBe(404);
});

test("the older transport names the path of its own server", async () => {
  const url = await openBoth();
  for (const base of ["/near", "/far"]) {
    const abort = new AbortController();
    const stream = await fetch(`${url}${base}/sse`, { headers: { Accept: "text/event-stream" }, signal: abort.signal });
    const first = await stream.body?.getReader().read();
    expect(new TextDecoder().decode(first?.value)).toContain(`data: ${base}/messages?sessionId=`);
    abort.abort();
  }
});
