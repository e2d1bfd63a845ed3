import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { createProxy } from "../../src/proxy/proxy.ts";
import type { Proxy, ProxyOptions } from "../../src/proxy/proxy-options.ts";
import type { Spoken } from "./peers.ts";

/** A request that a scripted server has to answer. */
export interface Knock {
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** What the body says; an empty message where there is none. */
  readonly message: Spoken;
  readonly response: ServerResponse;
}

/** A server by HTTP that does what a test tells it to. */
export interface ScriptedServer {
  readonly url: string;
  readonly knocks: readonly Knock[];
  close(): Promise<void>;
}

/**
 * Starts one. What Fairlead asks by itself is answered as a good server would; the rest is for `answer`, and what that
 * leaves alone too. `results` are for methods that a good server answers otherwise here, and with `answerOurs` it is not
 * good to Fairlead.
 */
export async function startScripted(
  answer: (knock: Knock) => boolean | void,
  results: Record<string, object> = {},
  answerOurs: (knock: Knock) => boolean = () => false,
): Promise<ScriptedServer> {
  const knocks: Knock[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      const message = (body === "" ? {} : JSON.parse(body)) as Spoken;
      const knock = { method: request.method ?? "", headers: request.headers, body, message, response };
      const isOurs = request.headers["mcp-session-id"] === OURS || body.includes('"fairlead');
      if (isOurs) return answerOurs(knock) ? undefined : answerWell(knock, OURS, results);
      knocks.push(knock);
      if (answer(knock) !== true && !response.headersSent) answerWell(knock, "s1", results);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    knocks,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const OURS = "of-fairlead";

function answerWell({ method, message, response }: Knock, session: string, results: Record<string, object>): void {
  if (method === "GET") return void response.writeHead(405).end();
  if (method === "DELETE" || message.id === undefined || message.method === undefined) {
    return void response.writeHead(method === "DELETE" ? 200 : 202).end();
  }
  const result = results[message.method];
  const body = result === undefined ? resultFor(message) : { jsonrpc: "2.0", id: message.id, result };
  replyWith(response, body, message.method === "initialize" ? { "Mcp-Session-Id": session } : {});
}

/** What a good server says. */
export function resultFor({ id, method, params }: Spoken): object {
  const tools = [{ name: "echo", inputSchema: { type: "object" } }];
  const serverInfo = { name: "scripted", version: "1" };
  const results: Record<string, object> = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo },
    "tools/list": { tools },
    "tools/call": { content: [], echoed: params?.["arguments"] ?? null },
  };
  return { jsonrpc: "2.0", id, result: results[method ?? ""] ?? {} };
}

/** Answers with JSON. */
export function replyWith(
  response: ServerResponse,
  body: object,
  headers: Record<string, string> = {},
  status = 200,
): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Begins an event stream. */
export function beginEvents(response: ServerResponse): (text: string) => void {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.flushHeaders();
  return (text) => void response.write(text);
}

/** A client on a pair of streams in this process, and Fairlead behind it. */
export interface NearClient {
  readonly proxy: Proxy;
  readonly input: PassThrough;
  readonly output: PassThrough;
  /** The messages that have come. */
  readonly heard: Spoken[];
  say(...messages: (object | string)[]): void;
  /** Waits for the next message like this. */
  hear(isMeant: (message: Spoken) => boolean): Promise<Spoken>;
  ask(message: Spoken): Promise<Spoken>;
  /** The handshake of the older era. */
  begin(): Promise<void>;
}

/** Starts Fairlead in this process. */
export async function beNear(options: ProxyOptions): Promise<NearClient> {
  const input = new PassThrough();
  const output = new PassThrough();
  const heard: Spoken[] = [];
  let rest = "";
  output.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString("utf8")).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) heard.push(JSON.parse(line) as Spoken);
  });
  const proxy = await createProxy({ log: null, client: { input, output }, ...options });
  const client: NearClient = {
    proxy,
    input,
    output,
    heard,
    say(...messages) {
      input.write(messages.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`).join(""));
    },
    async hear(isMeant) {
      for (const until = Date.now() + 10_000; Date.now() < until; await delay(5)) {
        const index = heard.findIndex(isMeant);
        if (index >= 0) return heard.splice(index, 1)[0];
      }
      throw new Error(`Not heard: ${String(isMeant)}, but: ${JSON.stringify(heard)}`);
    },
    ask(message) {
      client.say({ jsonrpc: "2.0", ...message });
      return client.hear(({ id, method }) => id === message.id && method === undefined);
    },
    async begin() {
      const clientInfo = { name: "tester", version: "1" };
      await client.ask({
        id: 0,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
      });
      client.say({ jsonrpc: "2.0", method: "notifications/initialized" });
    },
  };
  return client;
}

/** Asks again and again until it is so. */
export async function becomes(isSo: () => boolean, withinMs = 5000): Promise<void> {
  for (const until = Date.now() + withinMs; !isSo(); await delay(5)) {
    if (Date.now() > until) throw new Error(`Never: ${String(isSo)}`);
  }
}
