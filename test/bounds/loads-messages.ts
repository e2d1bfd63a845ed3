import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ask, dial } from "../support/raw-http.ts";
import { call, HEADERS, isAnswered, LARGE, type Load, MEGABYTE } from "./load.ts";
import type { Stage } from "./stage.ts";

/** Rules that look at everything in a message. */
const CURIOUS = `interceptor:
  rules:
    - id: hash
      conditions: [{ method_equals: tools/call }]
      actions: [{ rate_limit: { limit: 1000, window: 1m, key: "\${params_hash}" } }]
    - id: look
      conditions: [{ param_matches: { field: "arguments.text", pattern: "never-there$" } }, { param_exists: arguments.x.y }]
      actions: [{ block: "no" }]
`;

/** A server that answers large requests without a look at them: this process has other things to do. */
function answerUnseen(request: IncomingMessage, response: ServerResponse): boolean {
  if (Number(request.headers["content-length"]) < MEGABYTE) return false;
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}');
  });
  return true;
}

/** Sends a message, and says whether it was answered at all: passed on or refused. */
async function isHeard({ port }: Stage, body: string): Promise<boolean> {
  const { status, body: answer } = await ask({ port }, { headers: HEADERS, body });
  return status >= 200 && status < 500 && /"(?:result|error)"/.test(answer);
}

function callWith(args: string): string {
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":${args}}}}`;
}

/** Hostile by what a message says, or by how much of it there is. */
export const MESSAGES: readonly Load[] = [
  {
    name: "a request of 9 MB of opening brackets",
    stage: { policy: CURIOUS, take: answerUnseen },
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 1, maxMegabytes: 250 },
    run: async (stage, scale) => ({ "it is refused": await isHeard(stage, callWith("[".repeat(LARGE * scale))) }),
  },
  {
    name: "a request of 9 MB, nested 120 deep again and again, with rules that look",
    stage: { policy: CURIOUS, take: answerUnseen },
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 0.3, maxMegabytes: 250 },
    async run(stage, scale) {
      const one = `${"[".repeat(120)}${"]".repeat(120)}`;
      const count = Math.floor((LARGE * scale) / (one.length + 1));
      return { "it is answered": await isHeard(stage, callWith(`[${Array(count).fill(one).join(",")}]`)) };
    },
  },
  {
    name: "a request with 700,000 escaped keys, with rules that look",
    stage: { policy: CURIOUS, take: answerUnseen },
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 0.3, maxMegabytes: 250 },
    async run(stage, scale) {
      const keys = Array.from({ length: 700_000 * scale }, (_, nth) => `"\\u0061${nth.toString(36)}":1`);
      return { "it is answered": await isHeard(stage, callWith(`{${keys.join(",")}}`)) };
    },
  },
  {
    name: "an event with a line of 60 MB",
    stage: {
      answer({ message, response }) {
        if (message.method !== "tools/call" || message.id !== "long") return false;
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        response.write("data: ");
        let left = 60;
        const block = Buffer.alloc(MEGABYTE, "x");
        const more = (): void => {
          if (response.destroyed) return;
          if (left-- > 0) response.write(block, more);
          else response.end("\n\n");
        };
        more();
        return true;
      },
    },
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 1, maxMegabytes: 250 },
    async run(stage) {
      const isTold = await isHeard(stage, call(0).replace('"id":0', '"id":"long"'));
      return { "its client is told": isTold, "others are served": await isAnswered(stage, call(1)) };
    },
  },
  {
    name: "5,000 connections that say nothing",
    stage: {},
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 0.1, maxMegabytes: 200 },
    async run(stage, scale) {
      const sockets: Socket[] = [];
      for (let nth = 0; nth < 5000 * scale; nth += 50) {
        sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => dial({ port: stage.port })))));
      }
      const isServed = await isAnswered(stage, call(1));
      for (const socket of sockets) socket.destroy();
      return { "others are served": isServed };
    },
  },
];
