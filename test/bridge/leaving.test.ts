import { once } from "node:events";
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

/** Holds every call until it is told that nobody waits any more. */
function patient() {
  const gate = new EventTarget();
  const held = once(gate, "held");
  const ended = once(gate, "ended");
  const interceptor: Interceptor = {
    methods: ["tools/call"],
    async intercept({ signal }) {
      gate.dispatchEvent(new Event("held"));
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      gate.dispatchEvent(new Event("ended"));
    },
  };
  return { interceptor, held, ended };
}

describe("what a request waits for is ended when its client leaves", () => {
  const events: { readonly kind: string; readonly rule: string | null }[] = [];
  const audited = (): unknown => events.filter(({ rule }) => rule === "session:gone").map(({ kind }) => kind);
  const ECHO = { id: 2, method: "tools/call", params: { name: "echo", arguments: {} } };

  async function start(before: string, interceptor: Interceptor): Promise<NearGateway> {
    events.length = 0;
    const upstream = before === "a process" ? {} : { upstream: (await begin({})).proxy.url ?? "" };
    return begin({ ...upstream, interceptors: [interceptor], audit: (event) => void events.push(event) });
  }

  test.each(["a process", "a server by HTTP"])("without a session, before %s", async (before) => {
    const { interceptor, held, ended } = patient();
    const gateway = await start(before, interceptor);
    const abort = new AbortController();
    const left = gateway.call(2, "echo", {}, {}, abort.signal).catch(() => {});
    await held;
    abort.abort();
    await Promise.all([left, ended]);
    expect(audited()).toEqual(["request"]);
  });

  test.each(["a process", "a server by HTTP"])("in a session, before %s", async (before) => {
    const { interceptor, held, ended } = patient();
    const gateway = await start(before, interceptor);
    const session = await gateway.open();
    const abort = new AbortController();
    const left = gateway.post(ECHO, session, abort.signal).catch(() => {});
    await held;
    abort.abort();
    await Promise.all([left, ended]);
    expect(audited()).toEqual(["request"]);
    expect((await gateway.post({ id: 3, method: "ping" }, session)).status).toBe(200);
  });

  test.each(["a process", "a server by HTTP+SSE"])("by HTTP+SSE, before %s", async (before) => {
    const { interceptor, held, ended } = patient();
    const { interceptor: none } = { interceptor: { methods: [], intercept: () => {} } satisfies Interceptor };
    const behind = before === "a process" ? null : (await start("a process", none)).url;
    const gateway =
      behind === null
        ? await start("a process", interceptor)
        : await begin({
            upstream: `${behind}/sse`,
            interceptors: [interceptor],
            audit: (event) => void events.push(event),
          });
    const abort = new AbortController();
    const stream = await gateway.send({ path: "/sse", headers: { Accept: "text/event-stream" }, signal: abort.signal });
    const reader = stream.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    const path = /data: (\S+)/.exec(first)?.[1] ?? "";
    const say = (message: object): Promise<Response> =>
      gateway.send({
        path,
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      });
    const said = say(ECHO).catch(() => {});
    await held;
    abort.abort();
    await reader?.cancel().catch(() => {});
    await ended;
    await said;
    expect(audited()).toEqual(["request"]);
  });
});
