import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openProxy } from "../../src/proxy/proxy.ts";
import type { Proxy, ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { fixture } from "../support/processes.ts";
import { becomes } from "../support/scripted-http.ts";
import { createTape, type Tape } from "../support/tape.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

let closing: (() => unknown)[];
let tape: Tape;
beforeEach(() => {
  closing = [];
  tape = createTape();
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

async function begin(options: ProxyOptions): Promise<Proxy> {
  const proxy = await openProxy({ log: null, timeouts: { drain: 300 }, ...options }, { tap: tape.tap });
  closing.push(() => end(proxy));
  return proxy;
}

async function end(proxy: Proxy): Promise<void> {
  proxy.stop();
  proxy.stop();
  await proxy.ended;
}

// Spaces, an escape and a character of two bytes: what is parsed and written anew would not be the same.
const ask = (id: number): string =>
  `{ "jsonrpc" : "2.0", "id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"\\u0041ß"}}}`;
const REFUSED = '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"secret_one","arguments":{}}}';
const HELLO =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';

/** What went one way and what came back, as latin1. */
type Pair = readonly [sent: string, received: string];

/** The connections of one side, as those see them whom we speak to. */
function pairs(side: "client" | "server"): Pair[] {
  const [sent, received] = side === "client" ? (["in", "out"] as const) : (["out", "in"] as const);
  return tape.connections
    .filter((each) => each.side === side)
    .map((each): Pair => [textOf(each[sent]), textOf(each[received])])
    .toSorted(inOrder);
}

/** They may end in another order than they began. */
const inOrder = (one: Pair, other: Pair): number => (one.join("\n") < other.join("\n") ? -1 : 1);

const textOf = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString("latin1");

/** A client on a pair of streams. */
function createStdio() {
  const input = new PassThrough();
  const output = new PassThrough();
  const read: Buffer[] = [];
  output.on("data", (chunk: Buffer) => read.push(chunk));
  return { input, output, read: () => textOf(read) };
}

/** A command whose stdin and stdout are written down by somebody else. */
function createChild() {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-tap-"));
  closing.unshift(() => rmSync(folder, { recursive: true, force: true }));
  const file = (suffix: string): Buffer =>
    Buffer.concat(
      readdirSync(folder)
        .filter((name) => name.endsWith(suffix))
        .map((name) => readFileSync(join(folder, name))),
    );
  return {
    command: [...fixture("tee.mjs"), folder, "child", "--", ...fixture("obliging.mjs")],
    pair: (): Pair => [file(".up").toString("latin1"), file(".down").toString("latin1")],
  };
}

/** A server of Streamable HTTP that writes down the bodies of requests and responses. */
async function createHttp() {
  const seen: Pair[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const { id, method } = (body.length === 0 ? {} : JSON.parse(body.toString("utf8"))) as Record<string, unknown>;
      const results: Record<string, unknown> = {
        initialize: {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "s", version: "1" },
        },
        "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
      };
      const result = JSON.stringify(results[String(method)] ?? { content: [{ type: "text", text: "ß" }] });
      const message = `{"jsonrpc":"2.0", "id":${JSON.stringify(id)}, "result":${result}}`;
      if (request.method !== "POST" || id === undefined) {
        seen.push([body.toString("latin1"), ""]);
        return void response.writeHead(request.method === "GET" ? 405 : 202).end();
      }
      const session = { "Mcp-Session-Id": "s1", "Set-Cookie": "secret=1" };
      if (method !== "tools/call") {
        seen.push([body.toString("latin1"), Buffer.from(message).toString("latin1")]);
        return void response.writeHead(200, { "Content-Type": "application/json", ...session }).end(message);
      }
      // In pieces, with a comment and with line ends as few servers write them.
      const events = [": hello\r\n\r\nid: 1\r\ndata: ", message.slice(0, 40), `${message.slice(40)}\r\n\r\n`];
      seen.push([body.toString("latin1"), Buffer.from(events.join("")).toString("latin1")]);
      response.writeHead(200, { "Content-Type": "text/event-stream", ...session });
      for (const event of events) response.write(event);
      return void response.end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closing.unshift(() => server.closeAllConnections());
  closing.unshift(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?api_key=hush`,
    pairs: () => seen.toSorted(inOrder),
  };
}

/** Sends a request in two pieces, and reads all that is answered. */
function send(
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ session: string; pair: Pair }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        Authorization: "Bearer hush",
        ...headers,
      },
    });
    request.on("error", reject);
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const pair = [Buffer.from(body).toString("latin1"), textOf(chunks)] as const;
        resolve({ session: String(response.headers["mcp-session-id"]), pair });
      });
    });
    request.write(body.slice(0, 20));
    request.end(body.slice(20));
  });
}

/** A conversation by HTTP: what went and came. */
async function converse(url: string): Promise<Pair[]> {
  const { session, pair } = await send(url, HELLO);
  const headers = { "Mcp-Session-Id": session };
  const others = [
    await send(url, '{"jsonrpc":"2.0","method":"notifications/initialized"}', headers),
    await send(url, ask(1), headers),
    await send(url, REFUSED, headers),
    await send(url, "{no json", headers),
  ];
  return [pair, ...others.map((each) => each.pair)].toSorted(inOrder);
}

const isEnded = (): boolean => tape.connections.every(({ ends }) => ends === 1);

describe("a tap sees the exact bytes that each side sent and received", () => {
  const said = `${HELLO}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\r\n \n${ask(1)}\n${REFUSED}\n{no json}\nrest`;

  test("between a client on stdio and a child", async () => {
    const { input, output, read } = createStdio();
    const child = createChild();
    const proxy = await begin({ command: child.command, client: { input, output }, deny: ["^secret_"] });
    input.write(said.slice(0, 50));
    input.write(said.slice(50));
    await becomes(() => /"id":1\b.*"id":9\b|"id":9\b.*"id":1\b/s.test(read()));
    input.end();
    await proxy.ended;
    expect(pairs("client")).toEqual([[Buffer.from(said).toString("latin1"), read()]]);
    expect(pairs("server")).toEqual([child.pair()]);
    expect(child.pair()[0]).not.toContain("secret_one");
    expect(isEnded()).toBe(true);
  });

  test("between a client on stdio and a server at a URL", async () => {
    const { input, output, read } = createStdio();
    const server = await createHttp();
    const proxy = await begin({ upstream: server.url, client: { input, output }, deny: ["^secret_"] });
    input.write(said.slice(0, 50));
    input.write(said.slice(50));
    await becomes(() => /"id":\s*1\b/.test(read()) && /"id":\s*9\b/.test(read()));
    input.end();
    await proxy.ended;
    expect(pairs("client")).toEqual([[Buffer.from(said).toString("latin1"), read()]]);
    expect(pairs("server")).toEqual(server.pairs());
    await becomes(isEnded);
  });

  test("between a client by HTTP and a child", async () => {
    const child = createChild();
    const proxy = await begin({ command: child.command, listen: { port: 0 }, deny: ["^secret_"] });
    const spoken = await converse(proxy.url ?? "");
    await end(proxy);
    expect(pairs("client")).toEqual(spoken);
    expect(pairs("server")).toEqual([child.pair()]);
    await becomes(isEnded);
  });

  test("between a client by HTTP and a server at a URL", async () => {
    const server = await createHttp();
    const proxy = await begin({ upstream: server.url, listen: { port: 0 }, deny: ["^secret_"] });
    const spoken = await converse(proxy.url ?? "");
    await end(proxy);
    expect(pairs("client")).toEqual(spoken);
    expect(pairs("server")).toEqual(server.pairs());
    await becomes(isEnded);
  });
});

describe("of a request and a response by HTTP", () => {
  test("a tap sees the heads, and no secrets in them", async () => {
    const server = await createHttp();
    const headers = { "X-Token": "hush" };
    const proxy = await begin({ upstream: server.url, headers, listen: { port: 0 } });
    await send(proxy.url ?? "", HELLO);
    await end(proxy);
    const heads = tape.connections.flatMap((each) => each.heads);
    expect(JSON.stringify(heads)).not.toMatch(/hush|secret=1/);
    const { heads: atDoor = [] } = tape.connections.find(({ side }) => side === "client") ?? {};
    expect(atDoor).toMatchObject([
      { way: "in", head: { method: "POST", path: "/mcp" } },
      { way: "out", head: { status: 200 } },
    ]);
    expect(atDoor[0].head.headers).toContainEqual(["Authorization", "***"]);
    expect(atDoor[1].head.headers).toContainEqual(["Mcp-Session-Id", "s1"]);
    const [up, down] = tape.connections.findLast(({ side }) => side === "server")?.heads ?? [];
    expect(up).toMatchObject({ way: "out", head: { method: "POST", path: "/mcp?api_key=***" } });
    expect(up.head.headers).toContainEqual(["X-Token", "***"]);
    expect(down).toMatchObject({ way: "in", head: { status: 200 } });
    expect(down.head.headers).toContainEqual(["Set-Cookie", "***"]);
  });

  test("a tap sees what was refused at the door, and what was answered without a body", async () => {
    const proxy = await begin({ command: fixture("obliging.mjs"), listen: { port: 0 } });
    const { pair } = await send(proxy.url ?? "", HELLO, { Host: "evil.example" });
    const health = await fetch((proxy.url ?? "").replace(/mcp$/, "healthz"), { method: "HEAD" });
    expect(health.status).toBe(200);
    await end(proxy);
    expect(pairs("client")).toEqual([["", ""], pair]);
    expect(pair[1]).toContain("Invalid Host header");
  });
});

function fail(): never {
  throw new Error("disk full");
}

test("a tap that fails is logged once, and what it should have seen passes", async () => {
  const { input, output, read } = createStdio();
  const said: string[] = [];
  const log = { error: () => {}, warn: (text: string) => void said.push(text), info: () => {}, debug: () => {} };
  const client = { input, output };
  const proxy = await openProxy(
    { command: fixture("obliging.mjs"), client, log },
    { tap: { bytes: fail, head: fail, end: fail } },
  );
  input.write(`${HELLO}\n`);
  await becomes(() => read().includes('"id":0'));
  input.end();
  await proxy.ended;
  expect(said).toEqual(["a recorder failed: disk full"]);
});
