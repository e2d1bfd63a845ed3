import { type Heard, type ScriptedServer, startScripted, tool } from "./scripted-server.ts";

/** A server of the transport of 2024-11-05. */
export interface SseServer {
  readonly server: ScriptedServer;
  /** The streams that are open, oldest first. */
  readonly streams: readonly Heard[];
  readonly url: string;
}

/** How it behaves where it is not like others. */
export interface SseManners {
  readonly tools?: readonly string[];
  /** The event that begins a stream. */
  readonly greeting?: string;
  /** Hears a message before it is answered; true where it has answered itself. */
  readonly hear?: (heard: Heard, stream: Heard) => boolean;
}

/** Starts one: a stream at /sse, messages to /messages. */
export async function startSse({
  tools = ["safe_tool", "denied_tool"],
  greeting,
  hear,
}: SseManners = {}): Promise<SseServer> {
  const streams: Heard[] = [];
  const server = await startScripted();
  server.script = (heard) => {
    if (heard.method === "GET" && heard.path === "/sse") {
      const number = streams.push(heard);
      return heard.events(greeting ?? `event: endpoint\ndata: /messages?stream=${number}\n\n`);
    }
    const stream = streams[Number(/stream=(\d+)/.exec(heard.path)?.[1]) - 1] as Heard | undefined;
    if (heard.method !== "POST" || stream === undefined) {
      return heard.write("HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n");
    }
    heard.write("HTTP/1.1 202 Accepted\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\nAccepted");
    if (hear?.(heard, stream) === true) return undefined;
    const { message } = heard;
    if (message?.method === undefined || message.id === undefined) return undefined;
    const info = {
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "s", version: "1" },
    };
    const results: Record<string, unknown> = { initialize: info, "tools/list": { tools: tools.map(tool) } };
    const result = results[message.method] ?? {};
    return stream.chunk(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n\n`);
  };
  return { server, streams, url: `http://127.0.0.1:${server.port}/sse` };
}
