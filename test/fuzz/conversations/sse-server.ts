import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HttpServerEnd } from "./http-server.ts";
import type { Script } from "./script.ts";
import type { Outlet } from "./server-end.ts";
import type { Stage } from "./stage.ts";

interface Stream extends Outlet {
  client: number | null;
  isOpen: boolean;
  isOwn: boolean;
}

/** Starts a server of the transport of 2024-11-05: one stream for a session, and messages beside it. */
export async function startSseServer(stage: Stage, script: Script): Promise<HttpServerEnd> {
  const streams: Stream[] = [];
  const server = createServer((request, response) => {
    stage.pulse.beat();
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () =>
      stage.hear(() => {
        if (request.method === "GET" && request.url === "/sse") return open(response);
        const stream = streams.at(Number(/stream=(\d+)/.exec(request.url ?? "")?.[1] ?? Number.NaN));
        if (request.method !== "POST" || stream === undefined) return void response.writeHead(405).end();
        response.writeHead(202).end("Accepted");
        const { greets } = script.receive(Buffer.concat(chunks).toString("utf8"), stream, false);
        if (greets === "own") stream.isOwn = true;
        else if (greets !== null) stream.client = greets.client;
      }),
    );
  });

  function open(response: ServerResponse): void {
    const stream: Stream = {
      client: null,
      isOpen: true,
      isOwn: false,
      isBare: false,
      isKept: false,
      say: (text) => void (stream.isOpen && response.write(`event: message\ndata: ${text}\n\n`)),
      respond: (text) => stream.say(text, false),
      end: () => {}, // it is the session
      break() {
        stream.isOpen = false;
        response.destroy();
      },
    };
    response.on("close", () => {
      stage.pulse.beat();
      stream.isOpen = false;
    });
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(`event: endpoint\ndata: /messages?stream=${streams.push(stream) - 1}\n\n`);
  }

  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  let isAlive = true;
  const die = (): void => {
    isAlive = false;
    server.close();
    server.closeAllConnections();
  };
  return {
    url: `http://127.0.0.1:${port}/sse`,
    outlets: () => streams.filter(({ isOpen, isOwn }) => isOpen && !isOwn),
    eventIds: [],
    forget(client) {
      const stream = streams.find((each) => each.isOpen && each.client === client);
      stream?.break();
      return stream !== undefined;
    },
    die() {
      if (!isAlive) return false;
      die();
      return true;
    },
    revive: async () => {},
    get isAlive() {
      return isAlive;
    },
    close: die,
  };
}
