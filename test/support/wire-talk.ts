import { Agent, type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Said, Spoken, Talk } from "./peers.ts";

/** A conversation by HTTP, and what was said on each stream of it. */
export interface WireTalk extends Talk {
  /** The messages that were sent, in order: bytes as latin1. */
  readonly sent: readonly string[];
  /** The messages that came: those of each response together. */
  readonly streams: readonly (readonly string[])[];
  /** Status codes of the responses that brought no message. */
  readonly statuses: readonly number[];
}

/**
 * A client of Streamable HTTP that sends what it is told and writes down what comes. No SDK: the bytes are what it is
 * about. It behaves as clients do: headers that say what the body says since 2026-07-28, where leaving a request is
 * how it is cancelled; a session and a stream of its own before that.
 */
export function talkHttp(url: string, headers: Readonly<Record<string, string>> = {}): WireTalk {
  const agent = new Agent({ keepAlive: true });
  const mailbox = createMailbox();
  const sent: string[] = [];
  const running = new Map<string, ClientRequest>();
  let session: Record<string, string> = {};
  let standing: ClientRequest | null = null;
  let queue: Promise<unknown> = Promise.resolve();

  function send(line: string): void {
    const message = JSON.parse(line) as Spoken;
    const modern = modernHeaders(message);
    const leaves = message.method === "notifications/cancelled" ? keyOf(message.params?.["requestId"]) : "";
    const left = running.get(leaves);
    if (left !== undefined && left.getHeader("mcp-method") !== undefined) return void left.destroy();
    const isRequest = message.method !== undefined && message.id !== undefined;
    // One after the other, except for requests: those are answered later.
    queue = queue.then(() => (isRequest ? void post(line, message, modern) : post(line, message, modern)));
  }

  async function post(line: string, message: Spoken, modern: Record<string, string> | null): Promise<void> {
    // First: some servers speak soon after, and do not wait for the stream.
    if (message.method === "notifications/initialized") await listen();
    const body = Buffer.from(line);
    sent.push(body.toString("latin1"));
    const call = httpRequest(url, {
      method: "POST",
      agent,
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "Content-Length": body.length,
        ...headers,
        ...(modern ?? session),
      },
    });
    const key = keyOf(message.id);
    if (message.method !== undefined && message.id !== undefined) running.set(key, call);
    const done = new Promise<void>((resolve) => {
      call.on("response", (response) => {
        const id = response.headers["mcp-session-id"];
        if (typeof id === "string" && message.method === "initialize") session["Mcp-Session-Id"] = id;
        mailbox.read(response, (text) => {
          if (message.method === "initialize") session["MCP-Protocol-Version"] = versionIn(text);
        });
        response.on("close", () => {
          running.delete(key);
          resolve();
        });
      });
      call.on("error", () => resolve());
    });
    call.end(body);
    await done;
  }

  function listen(): Promise<void> {
    return new Promise((resolve) => {
      standing = httpRequest(url, { agent, headers: { Accept: "text/event-stream", ...headers, ...session } });
      standing.on("response", (response) => {
        mailbox.read(response, () => {});
        resolve();
      });
      standing.on("error", () => resolve());
      standing.end();
    });
  }

  return {
    ...mailbox.talk(send),
    sent,
    streams: mailbox.streams,
    statuses: mailbox.statuses,
    async end() {
      await queue;
      if (session["Mcp-Session-Id"] !== undefined) {
        await new Promise<void>((resolve) => {
          const call = httpRequest(url, { method: "DELETE", agent, headers: { ...headers, ...session } });
          call.on("response", (response) => response.resume().on("close", resolve));
          call.on("error", () => resolve());
          call.end();
        });
      }
      session = {};
      standing?.destroy();
      for (const call of running.values()) call.destroy();
      agent.destroy();
      return said(sent, mailbox.streams);
    },
  };
}

/** The same for the transport of 2024-11-05: one stream for all that comes. */
export async function talkSse(url: string, headers: Readonly<Record<string, string>> = {}): Promise<WireTalk> {
  const agent = new Agent({ keepAlive: true });
  const mailbox = createMailbox();
  const sent: string[] = [];
  let queue: Promise<unknown> = Promise.resolve();
  const stream = httpRequest(url, { agent, headers: { Accept: "text/event-stream", ...headers } });
  const endpoint = await new Promise<string>((resolve, reject) => {
    stream.on("response", (response) => mailbox.read(response, () => {}, resolve));
    stream.on("error", reject);
    stream.end();
  });
  const where = new URL(endpoint, url);

  function post(line: string): Promise<void> {
    const body = Buffer.from(line);
    sent.push(body.toString("latin1"));
    return new Promise((resolve) => {
      const length = { "Content-Type": "application/json", "Content-Length": body.length, ...headers };
      const call = httpRequest(where, { method: "POST", agent, headers: length });
      call.on("response", (response) => {
        mailbox.noteStatus(response.statusCode ?? 0);
        response.resume().on("close", resolve);
      });
      call.on("error", () => resolve());
      call.end(body);
    });
  }

  return {
    ...mailbox.talk((line) => void (queue = queue.then(() => post(line)))),
    sent,
    streams: mailbox.streams,
    statuses: mailbox.statuses,
    async end() {
      await queue;
      stream.destroy();
      agent.destroy();
      return said(sent, mailbox.streams);
    },
  };
}

const HEAR_MS = 15_000;

function createMailbox() {
  const streams: string[][] = [];
  const statuses: number[] = [];
  const unheard: string[] = [];
  let wake: (() => void) | null = null;

  async function hear(isMeant: (message: Spoken) => boolean): Promise<string> {
    const until = Date.now() + HEAR_MS;
    for (;;) {
      const index = unheard.findIndex((line) => isMeant(JSON.parse(line) as Spoken));
      if (index >= 0) return unheard.splice(index, 1)[0];
      const left = until - Date.now();
      if (left <= 0)
        throw new Error(`Not heard: ${String(isMeant)}\nUnheard:\n${unheard.join("\n")}\nstatus: ${statuses.join()}`);
      await Promise.race([new Promise<void>((resolve) => (wake = resolve)), delay(Math.min(left, 500))]);
    }
  }

  return {
    streams,
    statuses,
    noteStatus: (status: number) => void statuses.push(status),
    /** Takes the messages out of a response. */
    read(response: IncomingMessage, onMessage: (text: string) => void, onEndpoint?: (uri: string) => void): void {
      const stream: string[] = [];
      streams.push(stream);
      readMessages(response, (message, name) => {
        if (name === "endpoint") return onEndpoint?.(message);
        stream.push(message);
        unheard.push(Buffer.from(message, "latin1").toString("utf8"));
        onMessage(message);
        wake?.();
      });
      response.on("close", () => {
        if (stream.length === 0) statuses.push(response.statusCode ?? 0);
      });
    },
    talk(send: (line: string) => void): Pick<Talk, "write" | "ask" | "hear"> {
      const write = (text: string): void => {
        for (const line of text.split("\n")) if (line !== "") send(line);
      };
      return {
        write,
        hear,
        ask(line) {
          const { id } = JSON.parse(line) as Spoken;
          write(line);
          return hear((message) => message.id === id && message.method === undefined);
        },
      };
    },
  };
}

/** Calls back with each message of a response, as latin1: its body, or the data of its events. */
export function readMessages(response: IncomingMessage, onMessage: (message: string, name: string) => void): void {
  const type = response.headers["content-type"] ?? "";
  const isStream = type.startsWith("text/event-stream");
  const isJson = type.startsWith("application/json");
  let text = "";
  response.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    if (!isStream) return;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string): string[] =>
        lines.flatMap((line) => (line.startsWith(`${name}:`) ? [line.slice(name.length + 1).replace(/^ /, "")] : []));
      const data = field("data").join("\n");
      if (data !== "") onMessage(data, field("event")[0] ?? "message");
    }
  });
  response.on("end", () => {
    if (isJson && text !== "") onMessage(text, "message");
  });
  response.on("error", () => {});
}

function said(sent: readonly string[], streams: readonly (readonly string[])[]): Said {
  return { sent: linesFrom(sent), received: linesFrom(streams.flat()), code: 0, stderr: "" };
}

function linesFrom(messages: readonly string[]): Buffer {
  return Buffer.from(messages.map((one) => `${one}\n`).join(""), "latin1");
}

/** What the headers of a request say since 2026-07-28; null for the older era. */
function modernHeaders({ method, params }: Spoken): Record<string, string> | null {
  const meta = params?.["_meta"] as Record<string, string> | undefined;
  const version = meta?.["io.modelcontextprotocol/protocolVersion"];
  if (version === undefined || method === undefined) return null;
  const named = NAMED[method] === undefined ? undefined : (params?.[NAMED[method]] as string | undefined);
  const { city } = (params?.["arguments"] ?? {}) as { city?: string };
  return {
    "MCP-Protocol-Version": version,
    "Mcp-Method": method,
    ...(named === undefined ? {} : { "Mcp-Name": encode(named) }),
    ...(city === undefined || named !== "weather" ? {} : { "Mcp-Param-City": encode(city) }),
  };
}

const NAMED: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

function encode(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

function versionIn(answer: string): string {
  return /"protocolVersion":"([^"]+)"/.exec(answer)?.[1] ?? "";
}

const keyOf = (id: unknown): string => JSON.stringify(id ?? null);
