import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../../src/record/log/log.ts";
import type { ProxyOptions } from "../../src/proxy/proxy-options.ts";
import { openGateway } from "./near-gateway.ts";
import type { Spoken } from "./peers.ts";
import { fixture } from "./processes.ts";
import { beNear } from "./scripted-http.ts";

/** How client and server speak. */
export const WAYS = ["stdio → stdio", "http → http", "http → stdio", "stdio → http"] as const;

/** What the server has. */
export interface Stock {
  readonly tools?: readonly object[] | readonly (readonly object[])[];
  /** The tools that it lists in the newer era, where they are others. */
  readonly modern?: readonly object[];
  readonly unknown?: "error" | "leak";
  readonly completions?: readonly string[];
  /** What it says by itself when it hears a method. */
  readonly says?: Readonly<Record<string, readonly object[]>>;
}

/** A client at work, with Fairlead in this process and a real server. */
export interface ShelfClient {
  ask(method: string, params?: object): Promise<Spoken>;
  /** The same as since 2026-07-28. */
  askModern(method: string, params?: object): Promise<Spoken>;
  /** Opens another session, where clients come by HTTP. */
  again(): Promise<ShelfClient["ask"]>;
  /** What came unasked. */
  readonly unasked: readonly Spoken[];
}

/** A server with a file that says what it has. */
export interface Shelf {
  readonly folder: string;
  readonly command: readonly string[];
  /** Changes what it has. */
  stock(stock: Stock): void;
  /** What it heard: the messages with this method. */
  heard(method: string): Spoken[];
  /** The lines of Fairlead's log. */
  readonly said: string[];
  /** Starts Fairlead and talks to it. */
  talk(way: (typeof WAYS)[number], options: ProxyOptions, lead: (client: ShelfClient) => Promise<void>): Promise<void>;
  /** Where the server is by HTTP. It is started when somebody first asks. */
  url(): Promise<string>;
  close(): void;
}

/** Puts up a shelf. */
export function openShelf(stock: Stock): Shelf {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-shelf-"));
  const file = join(folder, "stock.json");
  const said: string[] = [];
  let server: ChildProcess | null = null;
  let address: Promise<string> | null = null;
  const put = (next: Stock): void => writeFileSync(file, JSON.stringify(next));
  put(stock);

  function url(): Promise<string> {
    address ??= new Promise((resolve) => {
      const [command, ...args] = fixture("shelf.mjs", file, "http");
      server = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
      server.stdout?.once("data", (chunk: Buffer) => resolve(`http://127.0.0.1:${chunk.toString().trim()}/mcp`));
    });
    return address;
  }

  return {
    folder,
    command: fixture("shelf.mjs", file),
    stock: put,
    said,
    url,
    heard: (method) =>
      readFileSync(`${file}.heard`, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Spoken)
        .filter((message) => message.method === method),
    async talk(way, options, lead) {
      const log = createLog({ write: (line) => said.push(line.slice(line.indexOf(" ") + 1).trimEnd()) });
      const target = way.endsWith("http") ? { upstream: await url() } : { command: fixture("shelf.mjs", file) };
      if (way.startsWith("http")) await talkHttp({ log, ...target, ...options }, lead);
      else await talkLines({ log, ...target, ...options }, lead);
    },
    close: () => void server?.kill(),
  };
}

type Lead = (client: ShelfClient) => Promise<void>;

async function talkLines(options: ProxyOptions, lead: Lead): Promise<void> {
  const client = await beNear(options);
  let id = 10;
  const ask = (method: string, params: object = {}): Promise<Spoken> =>
    client.ask({ id: ++id, method, params } as Spoken);
  try {
    await client.begin();
    await lead({
      ask,
      askModern: (method, params) => ask(method, modern(params)),
      again: refuse,
      unasked: client.heard,
    });
  } finally {
    client.input.end();
    client.proxy.stop();
    await client.proxy.ended;
  }
}

function refuse(): Promise<never> {
  return Promise.reject(new Error("there is but one client on stdin"));
}

async function talkHttp(options: ProxyOptions, lead: Lead): Promise<void> {
  const gateway = await openGateway(options);
  const unasked: Spoken[] = [];
  const leaving = new AbortController();
  let id = 10;
  try {
    const session = await gateway.open();
    void listen(gateway.url, session, unasked, leaving.signal);
    const post = async (method: string, params: object, headers: Record<string, string>): Promise<Spoken> => {
      const { messages } = await gateway.post({ id: ++id, method, params }, headers);
      unasked.push(...messages.filter((message) => message.method !== undefined));
      return messages.find((message) => message.method === undefined) ?? {};
    };
    await lead({
      ask: (method, params = {}) => post(method, params, session),
      async again() {
        const other = await gateway.open();
        return (method, params = {}) => post(method, params, other);
      },
      askModern(method, params = {}) {
        const { name, uri } = params as { name?: string; uri?: string };
        const subject = name ?? uri;
        const headers = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method };
        return post(method, modern(params), subject === undefined ? headers : { ...headers, "Mcp-Name": subject });
      },
      unasked,
    });
  } finally {
    leaving.abort();
    await gateway.end();
  }
}

function modern(params: object = {}): object {
  const clientInfo = { name: "tester", version: "1" };
  return {
    ...params,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  };
}

/** Reads the stream for what comes unasked, as long as it is there. */
async function listen(
  url: string,
  session: Record<string, string>,
  into: Spoken[],
  signal: AbortSignal,
): Promise<void> {
  try {
    const response = await fetch(`${url}/mcp`, { headers: { Accept: "text/event-stream", ...session }, signal });
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString("utf8");
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const [, data] of events.join("\n").matchAll(/^data: (\{.*)$/gm)) into.push(JSON.parse(data) as Spoken);
    }
  } catch {
    // It is over.
  }
}
