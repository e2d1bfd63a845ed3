import { createServer, type IncomingMessage, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { readMessages } from "./wire-talk.ts";

/** What one client of a server said and heard, as it was before the server: messages as latin1. */
export interface Recording {
  readonly up: string[];
  /** Each response by itself. */
  readonly down: string[][];
  /** The heads of the requests. */
  readonly heads: { readonly method: string; readonly headers: IncomingMessage["headers"] }[];
}

/** Stands before a server by HTTP and writes down what passes. Changes nothing. */
export interface Recorder {
  /** The server's address, by way of here. */
  readonly url: string;
  /** The conversations so far, without those that Fairlead leads by itself. */
  recordings(): Recording[];
  close(): Promise<void>;
}

/** Starts one before the server at this address. */
export async function record(target: string): Promise<Recorder> {
  const { origin, pathname } = new URL(target);
  const bySession = new Map<string, Recording>();

  function recordingOf(session: string): Recording {
    const known = bySession.get(session) ?? { up: [], down: [], heads: [] };
    bySession.set(session, known);
    return known;
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    const asked = sessionOf(request);
    let recording: Recording | null = asked === null ? null : recordingOf(asked);
    const early = { body: "" };
    const settle = (session: string): Recording => {
      if (recording !== null) return recording;
      recording = recordingOf(session);
      if (early.body !== "") recording.up.push(early.body);
      return recording;
    };
    const onward = httpRequest(origin + (request.url ?? ""), { method: request.method, headers: request.headers });
    request.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      onward.write(chunk);
    });
    request.on("end", () => {
      early.body = Buffer.concat(chunks).toString("latin1");
      if (recording !== null && early.body !== "") recording.up.push(early.body);
      onward.end();
    });
    onward.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
      response.flushHeaders();
      answer.on("data", (chunk: Buffer) => response.write(chunk));
      answer.on("end", () => response.end());
      answer.on("error", () => response.destroy());
      const given = answer.headers["mcp-session-id"];
      const stream: string[] = [];
      if (recording === null && request.method !== "GET") settle(typeof given === "string" ? given : "none");
      recording?.heads.push({ method: request.method ?? "", headers: request.headers });
      recording?.down.push(stream);
      readMessages(answer, (message, name) => {
        if (name !== "endpoint") return void stream.push(message);
        settle(new URL(message, origin).searchParams.get("sessionId") ?? "").down.push(stream);
      });
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    recordings: () =>
      [...bySession.values()].flatMap((one) => {
        if (one.up.some((message) => message.includes('"method":"initialize"') && isOurs(message))) return [];
        return [
          {
            ...one,
            up: one.up.filter((message) => !isOurs(message)),
            down: one.down.map((stream) => stream.filter((message) => !isOurs(message))),
          },
        ];
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Requests of Fairlead's own have ids that say so, and their answers too. */
const isOurs = (message: string): boolean => /"id":"fairlead-/.test(message);

function sessionOf({ headers, url }: IncomingMessage): string | null {
  const named = headers["mcp-session-id"];
  return typeof named === "string" ? named : new URL(url ?? "", "http://x").searchParams.get("sessionId");
}
