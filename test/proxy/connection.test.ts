import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fixture } from "../support/processes.ts";
import { INITIALIZE, type NearGateway, openGateway } from "../support/near-gateway.ts";
import { becomes, beNear, startScripted } from "../support/scripted-http.ts";
import { readSettings } from "../support/rules.ts";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

let closing: (() => unknown)[];
beforeEach(() => {
  closing = [];
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

async function begin(options: ProxyOptions = {}): Promise<NearGateway> {
  const gateway = await openGateway({ timeouts: { drain: 100 }, ...options });
  closing.push(() => gateway.end());
  return gateway;
}

const TOOLS = {
  "tools/list": {
    tools: ["read_file", "delete_file"].map((name) => ({ name, description: "a", inputSchema: { type: "object" } })),
  },
};

describe("the connection to a server at a URL", () => {
  test("is there, with the tools that clients may see, and cannot be changed", async () => {
    const server = await startScripted(() => {}, TOOLS);
    closing.push(() => server.close());
    const since = Date.now();
    const { proxy } = await begin({ upstream: server.url.replace("//", "//user:secret@"), deny: ["^delete_"] });
    const { connection } = proxy;
    expect(connection).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/mcp$|\*/) as string,
      state: "connected",
      since: expect.any(Number) as number,
      era: "stateful",
      tools: [{ name: "read_file", description: "a", inputSchema: { type: "object" } }],
    });
    expect(connection.url).not.toContain("secret");
    expect(connection.since).toBeGreaterThanOrEqual(since);
    expect(() => Object.assign(connection, { state: "disconnected" })).toThrow(TypeError);
    expect(() => Object.assign(connection.tools?.[0].inputSchema ?? {}, { type: "x" })).toThrow(TypeError);
    expect(proxy.connection.tools).toBe(connection.tools); // made once
  });

  test("shows other tools after a reload", async () => {
    const server = await startScripted(() => {}, TOOLS);
    closing.push(() => server.close());
    const { proxy } = await begin({
      upstream: server.url,
      policy: await readSettings("tools: { deny: [^delete_] }\n"),
    });
    expect(proxy.connection.tools?.map(({ name }) => name)).toEqual(["read_file"]);
    await proxy.reload(await readSettings("tools: { deny: [^read_] }\n"));
    expect(proxy.connection.tools?.map(({ name }) => name)).toEqual(["delete_file"]);
  });

  test("is gone when the server is, and says since when", async () => {
    const server = await startScripted(() => {}, TOOLS);
    const { proxy } = await begin({ upstream: server.url, onLoss: "keep" });
    const before = proxy.connection;
    await server.close();
    await becomes(() => proxy.connection.state === "disconnected", 15_000);
    expect(before.state).toBe("connected");
    expect(proxy.connection.since).toBeGreaterThanOrEqual(before.since);
  });

  test("knows no tools where clients log in themselves", async () => {
    const server = await startScripted(
      () => {},
      {},
      ({ response }) => {
        response.writeHead(401).end();
        return true;
      },
    );
    closing.push(() => server.close());
    const { proxy } = await begin({ upstream: server.url });
    expect(proxy.connection).toMatchObject({ state: "connected", era: null, tools: null });
  });
});

describe("the connection to a child process", () => {
  test("learns the tools when the client asks for them, and ends with the process", async () => {
    const near = await beNear({ command: fixture("obliging.mjs"), deny: ["^secret_"] });
    expect(near.proxy.connection).toMatchObject({ url: null, state: "connected", era: null, tools: null });
    await near.begin();
    expect(near.proxy.connection).toMatchObject({ era: "stateful", tools: null });
    await near.ask({ id: 1, method: "tools/list" });
    const names = near.proxy.connection.tools?.map(({ name }) => name) ?? [];
    expect(names).toContain("slow");
    expect(names).not.toContain("secret_one");
    near.input.end();
    await near.proxy.ended;
    expect(near.proxy.connection.state).toBe("disconnected");
  });

  test("says nothing of tools where each session has its own", async () => {
    const { proxy, post } = await begin({ deny: ["^secret_"] });
    await post(INITIALIZE);
    expect(proxy.connection).toMatchObject({ url: null, state: "connected", tools: null });
    proxy.stop();
    await proxy.ended;
    expect(proxy.connection.state).toBe("disconnected");
  });
});

describe("what a proxy was told to do", () => {
  test("is frozen, with all that is in it", async () => {
    const server = await startScripted(() => {}, TOOLS);
    closing.push(() => server.close());
    const { proxy } = await begin({ upstream: server.url, deny: ["^delete_"] });
    const { config } = proxy;
    expect(config).toMatchObject({ upstreamUrl: server.url, denyPatterns: ["^delete_"] });
    expect(() => Object.assign(config ?? {}, { upstreamUrl: "http://evil" })).toThrow(TypeError);
    expect(() => Object.assign(config?.denyPatterns ?? [], ["x"])).toThrow(TypeError);
    expect(() => Object.assign(config?.timeouts ?? {}, { connection: 1 })).toThrow(TypeError);
  });

  test("has the patterns of a policy, where they are no option", async () => {
    const server = await startScripted(() => {}, TOOLS);
    closing.push(() => server.close());
    const policy = await readSettings("tools: { deny: [^delete_] }\n");
    expect((await begin({ upstream: server.url, policy })).proxy.config?.denyPatterns).toEqual(["^delete_"]);
  });
});
