import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { createProxy } from "../../src/proxy/proxy.ts";
import type { Proxy, ProxyOptions } from "../../src/proxy/proxy-options.ts";
import type { Spoken } from "./peers.ts";
import { fixture } from "./processes.ts";

/** Fairlead in this process, with clients by HTTP. */
export interface NearGateway {
  readonly proxy: Proxy;
  readonly url: string;
  /** Sends a request of HTTP. */
  send(init: RequestInit & { path?: string }): Promise<Response>;
  /** Posts a message. */
  post(message: object, headers?: Record<string, string>, signal?: AbortSignal): Promise<Reply>;
  /** Opens a session. Its id, as a header. */
  open(): Promise<Record<string, string>>;
  /** Calls a tool without a session, as since 2026-07-28. */
  call(id: number | string, name: string, args?: object, meta?: object, signal?: AbortSignal): Promise<Reply>;
  end(): Promise<void>;
}

/** What came of a message. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly messages: readonly Spoken[];
}

/** Starts Fairlead before a server that does what it is told. */
export async function openGateway(options: ProxyOptions = {}): Promise<NearGateway> {
  const proxy = await createProxy({
    log: null,
    listen: { port: 0 },
    ...(options.upstream === undefined ? { command: fixture("obliging.mjs") } : {}),
    ...options,
  });
  const url = (proxy.url ?? "").replace(/\/mcp$/, "");
  const gateway: NearGateway = {
    proxy,
    url,
    send: ({ path = "/mcp", ...init }) => fetch(url + path, init),
    async post(message, headers = {}, signal) {
      const response = await fetch(`${url}/mcp`, {
        method: "POST",
        headers: { ...JSON_HEADERS, ...headers },
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
        ...(signal === undefined ? {} : { signal }),
      });
      return { status: response.status, headers: response.headers, messages: messagesIn(await response.text()) };
    },
    async open() {
      const { headers } = await gateway.post(INITIALIZE);
      const session = { "Mcp-Session-Id": headers.get("mcp-session-id") ?? "", "MCP-Protocol-Version": "2025-11-25" };
      await gateway.post({ method: "notifications/initialized" }, session);
      return session;
    },
    call(id, name, args = {}, meta = {}, signal) {
      const version = "2026-07-28";
      const params = { name, arguments: args, _meta: { [VERSION]: version, ...meta } };
      const headers = { "MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": name };
      return gateway.post({ id, method: "tools/call", params }, headers, signal);
    },
    async end() {
      proxy.stop();
      proxy.stop();
      await proxy.ended;
    },
  };
  return gateway;
}

/** How a client of the older era begins. */
export const INITIALIZE = {
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tester", version: "1" } },
};

const VERSION = "io.modelcontextprotocol/protocolVersion";
const JSON_HEADERS = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

/** The messages in a body: one, or those of its events. */
export function messagesIn(text: string): Spoken[] {
  if (text === "") return [];
  if (text.startsWith("{")) return [JSON.parse(text) as Spoken];
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data) as Spoken);
}

/** Whether a process lives. */
export function lives(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return !"ZX".includes(stat[stat.lastIndexOf(")") + 2]);
}

/** Waits until a process is gone. */
export async function gone(pid: number, withinMs = 3000): Promise<void> {
  for (const until = Date.now() + withinMs; lives(pid); await delay(10)) {
    if (Date.now() > until) throw new Error(`process ${pid} still lives`);
  }
}
