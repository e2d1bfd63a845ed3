import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Interceptor } from "../../src/rules/interceptors/interceptor.ts";
import { type NearGateway, openGateway } from "../support/near-gateway.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

const gateways: NearGateway[] = [];

async function begin(options: Parameters<typeof openGateway>[0]): Promise<NearGateway> {
  const gateway = await openGateway(options);
  gateways.unshift(gateway);
  return gateway;
}

afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.end();
});

/** Holds calls of the tool that ends the server. */
function holding(): { readonly interceptor: Interceptor; readonly seen: Promise<void> } {
  let tell: (() => void) | undefined;
  const seen = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const interceptor: Interceptor = {
    methods: ["tools/call"],
    async intercept({ tool }) {
      if (tool !== "die") return;
      tell?.();
      await delay(200);
    },
  };
  return { interceptor, seen };
}

const pid = (messages: readonly { readonly result?: Record<string, unknown> }[]): unknown =>
  messages.at(-1)?.result?.["pid"];

describe("a request whose client leaves while it is held here does not reach the server", () => {
  test.each(["a process", "a server by HTTP"])("without a session, before %s", async (before) => {
    const { interceptor, seen } = holding();
    const upstream = before === "a process" ? {} : { upstream: (await begin({})).proxy.url ?? "" };
    const gateway = await begin({ ...upstream, interceptors: [interceptor] });
    const first = pid((await gateway.call(1, "echo")).messages);
    const abort = new AbortController();
    const left = gateway.call(2, "die", {}, {}, abort.signal).catch(() => {});
    await seen;
    abort.abort();
    await left;
    await delay(400);
    expect(pid((await gateway.call(3, "echo")).messages)).toBe(first);
  });

  test("in a session", async () => {
    const { interceptor, seen } = holding();
    const gateway = await begin({ interceptors: [interceptor] });
    const session = await gateway.open();
    const abort = new AbortController();
    const die = { id: 2, method: "tools/call", params: { name: "die" } };
    const left = gateway.post(die, session, abort.signal).catch(() => {});
    await seen;
    abort.abort();
    await left;
    await delay(400);
    const { status } = await gateway.post({ id: 3, method: "ping" }, session);
    expect(status).toBe(200);
  });
});
