import { type ChildProcess, spawn } from "node:child_process";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { type Gateway, startGateway, stopGateways } from "../support/gateway.ts";
import { fixture } from "../support/processes.ts";
import { type Answer, ask, dial, follow, type Headers, open, write } from "../support/raw-http.ts";
import { startScripted } from "../support/scripted-server.ts";
import { startSse } from "../support/sse-server.ts";

const JSON_BOTH: Headers = [
  ["Content-Type", "application/json"],
  ["Accept", "application/json, text/event-stream"],
];
const HELLO =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';
const LOST = "Error: Lost connection to upstream MCP\nShutting down proxy\n";

interface GoodServer {
  readonly child: ChildProcess;
  readonly port: number;
  readonly url: string;
  heard(): string;
  hears(part: string): Promise<void>;
}

const servers: ChildProcess[] = [];
afterEach(() => {
  stopGateways();
  for (const child of servers.splice(0)) child.kill("SIGKILL");
});

async function startGood(port = 0): Promise<GoodServer> {
  const [command, ...args] = fixture("http-good.mjs", String(port));
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  servers.push(child);
  let heard = "";
  child.stdout.on("data", (chunk: Buffer) => (heard += chunk.toString()));
  await waitFor(() => heard.includes("port "), "its port");
  const chosen = Number(/port (\d+)/.exec(heard)?.[1]);
  return {
    child,
    port: chosen,
    url: `http://127.0.0.1:${chosen}/mcp`,
    heard: () => heard,
    hears: (part) => waitFor(() => heard.includes(part), `the server hearing ${part}`),
  };
}

async function waitFor(isSo: () => boolean | Promise<boolean>, what: string, withinMs = 15_000): Promise<void> {
  for (const limit = performance.now() + withinMs; !(await isSo()); await delay(10))
    if (performance.now() > limit) throw new Error(`not in time: ${what}`);
}

function call(gateway: Gateway, id: number, name: string, ms = 0, headers: Headers = JSON_BOTH): Promise<Answer> {
  const params = { name, arguments: { ms } };
  return ask(gateway, { body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }), headers });
}

function readError({ body }: Answer): unknown {
  const text = /^data: (.*"error".*)$/m.exec(body)?.[1] ?? body;
  const { id, error } = JSON.parse(text) as { id: unknown; error: unknown };
  return { id, error };
}

const CLOSED = { code: -32000, message: "Connection closed" };

describe("a server that is killed", () => {
  test("while nobody speaks: the proxy says so and ends within two seconds", async () => {
    const server = await startGood();
    const gateway = await startGateway(["--upstream", server.url]);
    await delay(200);
    const killed = performance.now();
    server.child.kill("SIGKILL");
    expect(await gateway.ended).toBe(1);
    expect(performance.now() - killed).toBeLessThan(2000);
    expect(gateway.stderr().endsWith(LOST)).toBe(true);
  });

  test("while requests wait: each is answered once, then the proxy ends", async () => {
    const server = await startGood();
    const gateway = await startGateway(["--upstream", server.url, "--deny", "^denied$"]);
    const waiting = [1, 2, 3].map((id) => call(gateway, id, "never"));
    const streaming = [call(gateway, 4, "stream", 60_000), call(gateway, 5, "resumable", 60_000)];
    const listening = await open(gateway, { method: "GET", headers: [["Accept", "text/event-stream"]] });
    await waitFor(
      () =>
        server.heard().split("never").length === 4 && /stream[^]*resumable|resumable[^]*stream/.test(server.heard()),
      "the calls",
    );
    await delay(100);
    const killed = performance.now();
    server.child.kill("SIGKILL");
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status }) => status)).toEqual([502, 502, 502]);
    expect(answers.map(readError)).toEqual([1, 2, 3].map((id) => ({ id, error: CLOSED })));
    const streamed = await Promise.all(streaming);
    expect(streamed.map(({ body }) => body.match(/"error"/g)?.length)).toEqual([1, 1]);
    expect(streamed.map(readError)).toEqual([4, 5].map((id) => ({ id, error: CLOSED })));
    await listening.ended();
    expect(await gateway.ended).toBe(1);
    expect(performance.now() - killed).toBeLessThan(2000);
    expect(gateway.stderr().endsWith(LOST)).toBe(true);
  });

  test("of the older transport: its stream ends, and that is the end", async () => {
    const { server, url } = await startSse({ hear: ({ message }) => message?.method === "tools/call" });
    const gateway = await startGateway(["--upstream", url]);
    const opened = await ask(gateway, { body: HELLO, headers: JSON_BOTH });
    const headers: Headers = [...JSON_BOTH, ["Mcp-Session-Id", opened.headers["mcp-session-id"]]];
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe_tool","arguments":{}}}';
    const waiting = ask(gateway, { body, headers });
    await waitFor(() => server.calls("tools/call").length === 1, "the call");
    const killed = performance.now();
    server.close();
    expect(readError(await waiting)).toEqual({ id: 1, error: CLOSED });
    expect(await gateway.ended).toBe(1);
    expect(performance.now() - killed).toBeLessThan(2000);
    expect(gateway.stderr().endsWith(LOST)).toBe(true);
  });

  test("with --on-loss keep: errors and 503 until it is back, then all is well", async () => {
    const server = await startGood();
    const gateway = await startGateway(["--upstream", server.url, "--on-loss", "keep"]);
    const ready = async (): Promise<number> => (await ask(gateway, { method: "GET", target: "/readyz" })).status;
    expect(await ready()).toBe(200);
    const waiting = call(gateway, 1, "never");
    await server.hears("never");
    server.child.kill("SIGKILL");
    expect(readError(await waiting)).toEqual({ id: 1, error: CLOSED });
    await waitFor(async () => (await ready()) === 503, "503 at /readyz", 2000);
    const meanwhile = await call(gateway, 2, "slow");
    expect([meanwhile.status, readError(meanwhile)]).toEqual([502, { id: 2, error: CLOSED }]);
    expect((await ask(gateway, { method: "GET", target: "/healthz" })).status).toBe(200);
    await startGood(server.port);
    await waitFor(async () => (await ready()) === 200, "200 at /readyz", 3000);
    expect((await call(gateway, 3, "slow")).body).toBe('{"jsonrpc":"2.0","id":3,"result":{"content":[]}}');
    expect(gateway.stderr()).toContain("the server cannot be reached");
    expect(gateway.stderr()).toContain("the server is back");
    expect(gateway.child.exitCode).toBeNull();
  });
});

describe("what is no loss", () => {
  test("a stream that the server closes, a reset in one, and a client that vanishes harm nobody else", async () => {
    const server = await startScripted();
    const gateway = await startGateway(["--upstream", server.url]);
    let others = 0;
    server.script = (heard) => {
      const name = heard.message?.params?.["name"];
      if (heard.method === "GET") {
        heard.events("data: ");
        return void setTimeout(() => heard.socket.resetAndDestroy(), 20);
      }
      if (name === "closes") {
        heard.events("id: 1\nretry: 10\ndata: \n\n");
        return heard.end();
      }
      if (name === "waits") {
        return void setTimeout(() => {
          others++;
          heard.behave();
        }, 600);
      }
      return heard.behave();
    };
    const headers: Headers = [["Accept", "text/event-stream"]];
    const other = call(gateway, 1, "waits");
    const { headers: hello } = await ask(gateway, { body: HELLO, headers: JSON_BOTH });
    const closed = await call(gateway, 2, "closes", 0, [...JSON_BOTH, ["Mcp-Session-Id", hello["mcp-session-id"]]]);
    expect(closed.body).toBe("id: 1\nretry: 10\ndata: \n\n"); // it may be taken up again
    const reset = await open(gateway, { method: "GET", headers });
    await reset.ended();
    expect(reset.text()).toBe("");
    const vanishing = await dial(gateway);
    vanishing.write(
      write({ body: '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"waits"}}', headers: JSON_BOTH }),
    );
    await delay(50);
    vanishing.resetAndDestroy();
    const half = await dial(gateway);
    half.write(
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
    half.resetAndDestroy();
    expect((await other).status).toBe(200);
    expect(others).toBeGreaterThanOrEqual(1);
    expect((await ask(gateway, { method: "GET", target: "/readyz" })).status).toBe(200);
    await delay(1200);
    expect(gateway.child.exitCode).toBeNull();
    server.close();
  });

  test("a flood of connections takes our descriptors, and neither the server nor us", async () => {
    const server = await startScripted();
    const gateway = await startGateway(["--upstream", server.url], {}, 40);
    const flood: Socket[] = [];
    const more = setInterval(() => {
      for (let count = 0; count < 10; count++) flood.push(connect(gateway.port, "127.0.0.1").on("error", () => {}));
    }, 10);
    // Longer than a connection to the server is kept for nothing.
    await delay(6500);
    clearInterval(more);
    expect(gateway.child.exitCode).toBeNull();
    for (const socket of flood) socket.destroy();
    await waitFor(async () => (await call(gateway, 1, "slow").catch(() => null))?.status === 200, "an answer");
    expect(gateway.child.exitCode).toBeNull();
    server.close();
  });

  test("a server that accepts and is slow is there", async () => {
    const sockets: Socket[] = [];
    const server = await startScripted();
    const gateway = await startGateway(["--upstream", server.url]);
    server.script = () => {};
    const waiting = call(gateway, 1, "slow");
    await delay(2500);
    expect(gateway.child.exitCode).toBeNull();
    server.script = undefined;
    expect((await call(gateway, 2, "slow")).status).toBe(200);
    for (const socket of [...server.sockets, ...sockets]) socket.resetAndDestroy();
    expect((await waiting).status).toBe(502);
    server.close();
  });
});

describe("a client that leaves", () => {
  const META =
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';

  test("in 2026-07-28 that cancels: the server's request is aborted at once", async () => {
    const server = await startGood();
    const gateway = await startGateway(["--upstream", server.url]);
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never","arguments":{},${META}}}`;
    const headers: Headers = [
      ...JSON_BOTH,
      ["MCP-Protocol-Version", "2026-07-28"],
      ["Mcp-Method", "tools/call"],
      ["Mcp-Name", "never"],
    ];
    const socket = await dial(gateway);
    socket.write(write({ body, headers }));
    await server.hears("never");
    socket.destroy();
    await server.hears("gone POST");
    expect(server.heard()).not.toContain("notifications/cancelled");
  });

  test("before that it does not: no cancellation is sent, and the stream can be taken up again", async () => {
    const server = await startScripted();
    const gateway = await startGateway(["--upstream", server.url]);
    const done = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}';
    server.script = (heard) => {
      if (heard.method === "GET") {
        heard.events(`id: 2\ndata: ${done}\n\n`);
        return heard.end();
      }
      return heard.message?.method === "tools/call" ? heard.events("id: 1\ndata: \n\n") : heard.behave();
    };
    const opened = await ask(gateway, { body: HELLO, headers: JSON_BOTH });
    const headers: Headers = [...JSON_BOTH, ["Mcp-Session-Id", opened.headers["mcp-session-id"]]];
    const stream = await open(gateway, {
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe_tool","arguments":{}}}',
      headers,
    });
    await stream.hears("id: 1");
    stream.socket.destroy();
    await delay(200);
    const resumed = await open(gateway, {
      method: "GET",
      headers: [["Accept", "text/event-stream"], ["Last-Event-ID", "1"], headers[2]],
    });
    await resumed.ended();
    expect(resumed.text()).toBe(`id: 2\ndata: ${done}\n\n`);
    expect(server.calls("notifications/cancelled")).toEqual([]);
    expect(server.heard.at(-1)?.header("last-event-id")).toBe("1");
    resumed.socket.destroy();
    server.close();
  });
});

describe("SIGTERM", () => {
  test("what was accepted is answered, streams end, nobody new comes in, and then it ends", async () => {
    const server = await startGood();
    const gateway = await startGateway(["--upstream", server.url]);
    const listening = await open(gateway, { method: "GET", headers: [["Accept", "text/event-stream"]] });
    const older = await open(gateway, { method: "GET", target: "/sse", headers: [["Accept", "text/event-stream"]] });
    const idle = await dial(gateway);
    const kept = await dial(gateway);
    kept.write(write({ method: "GET", target: "/healthz" }));
    await follow(kept).then((answer) => answer.ended());
    const slow = call(gateway, 1, "slow", 1000);
    const streamed = call(gateway, 2, "stream", 1000);
    await waitFor(() => /slow[^]*stream|stream[^]*slow/.test(server.heard()), "both calls");
    const told = performance.now();
    gateway.kill("SIGTERM");
    await delay(100);
    await expect(ask(gateway, { method: "GET", target: "/healthz" })).rejects.toThrow(/ECONNREFUSED/);
    expect((await slow).body).toBe('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}');
    expect((await streamed).body).toContain('"id":2,"result"');
    await Promise.all([listening.ended(), older.ended()]);
    expect(await gateway.ended).toBe(0);
    expect(performance.now() - told).toBeLessThan(5000);
    idle.destroy();
  });

  test("a subscription of 2026-07-28 does not hold it up, and is answered", async () => {
    const server = await startGood();
    const gateway = await startGateway(["--upstream", server.url]);
    const META =
      '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';
    const stream = await open(gateway, {
      body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},${META}}}`,
      headers: [...JSON_BOTH, ["MCP-Protocol-Version", "2026-07-28"], ["Mcp-Method", "subscriptions/listen"]],
    });
    await stream.hears("acknowledged");
    const told = performance.now();
    gateway.kill("SIGTERM");
    await stream.ended();
    expect(stream.text()).toContain('"id":1,"error":{"code":-32000,"message":"Connection closed"}');
    expect(await gateway.ended).toBe(0);
    expect(performance.now() - told).toBeLessThan(3000);
  });

  test("what is not answered in ten seconds is given up", { timeout: 30_000 }, async () => {
    const server = await startGood();
    const gateway = await startGateway(["--upstream", server.url]);
    const never = call(gateway, 1, "never");
    await server.hears("never");
    const told = performance.now();
    gateway.kill("SIGTERM");
    expect(await gateway.ended).toBe(1);
    expect(performance.now() - told).toBeGreaterThan(9000);
    expect(performance.now() - told).toBeLessThan(11_500);
    const answer = await never;
    expect([answer.status, readError(answer)]).toEqual([503, { id: 1, error: CLOSED }]);
  });

  test("a second one ends at once", async () => {
    const server = await startGood();
    const gateway = await startGateway(["--upstream", server.url]);
    const never = call(gateway, 1, "never");
    await server.hears("never");
    gateway.kill("SIGTERM");
    await delay(200);
    const told = performance.now();
    gateway.kill("SIGTERM");
    expect(await gateway.ended).toBe(1);
    expect(performance.now() - told).toBeLessThan(1000);
    expect(readError(await never)).toEqual({ id: 1, error: CLOSED });
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s while it is still connecting ends at once",
    async (signal) => {
      const sockets: Socket[] = [];
      const silent = createServer((socket) => sockets.push(socket));
      await new Promise<void>((resolve) => void silent.listen(0, "127.0.0.1", resolve));
      const { port } = silent.address() as { port: number };
      const starting = startGateway(["--upstream", `http://127.0.0.1:${port}`]).catch((error: Error) => error.message);
      await waitFor(() => sockets.length > 0, "a connection");
      const [child] = servers;
      expect(child).toBeUndefined();
      stopGateways(signal);
      expect(await starting).toContain("does not listen");
      for (const socket of sockets) socket.destroy();
      silent.close();
    },
  );
});

describe("before a process", () => {
  test("SIGTERM: what was accepted is answered, and no process is left", async () => {
    const [command, ...args] = fixture("slow-to-answer.mjs");
    const gateway = await startGateway(["--", command, ...args]);
    const older = await open(gateway, { method: "GET", target: "/sse", headers: [["Accept", "text/event-stream"]] });
    const told = performance.now();
    gateway.kill("SIGTERM");
    await older.ended();
    expect(await gateway.ended).toBe(0);
    expect(performance.now() - told).toBeLessThan(9000);
  });
});
