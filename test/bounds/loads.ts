import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { fixture } from "../support/command.ts";
import { ask, dial, write } from "../support/raw-http.ts";
import {
  answerInBytes,
  askDeafly,
  becomes,
  call,
  chunkBytes,
  HEADERS,
  isAnswered,
  LARGE,
  type Load,
  MEGABYTE,
  pour,
  result,
} from "./load.ts";
import { MESSAGES } from "./loads-messages.ts";
import type { Arrival, Stage, StageOptions } from "./stage.ts";

/** A server that answers calls with 9 MB, as JSON or as an event. The text is made once: this process has other things to do. */
function answerLarge(way: "json" | "event"): (arrival: Arrival) => boolean {
  const text = Buffer.alloc(LARGE, "x");
  return ({ message, response }) => {
    if (message.method !== "tools/call") return false;
    const [before, after] = result(message.id, 1).split(/x(?="\})/);
    response.writeHead(200, { "Content-Type": way === "json" ? "application/json" : "text/event-stream" });
    response.write(way === "json" ? before : `data: ${before}`);
    response.write(text);
    response.end(way === "json" ? after : `${after}\n\n`);
    return true;
  };
}

/** Waits until the process has not grown for a while. */
async function settled(stage: Stage): Promise<void> {
  let last = 0;
  for (let quiet = 0, times = 0; quiet < 8 && times < 80; times++) {
    await delay(50);
    const now = stage.now();
    quiet = now > last + 2 ? 0 : quiet + 1;
    last = Math.max(last, now);
  }
}

/** Answers that nobody reads; then somebody who does. */
async function leaveUnread(stage: Stage, scale: number): Promise<Record<string, boolean>> {
  const sockets: Socket[] = [];
  for (let nth = 0; nth < 80 * scale; nth++) sockets.push(await askDeafly(stage, call(nth)));
  await settled(stage);
  const isServed = await isAnswered(stage, call(1));
  for (const socket of sockets) socket.destroy();
  return { "others are served": isServed };
}

const inBytes = (type: string, make: (id: unknown, bytes: number) => string, bytes: number): StageOptions => ({
  answer({ message, response }) {
    if (message.method !== "tools/call") return false;
    const { text } = (message.params?.["arguments"] ?? {}) as { text?: string };
    answerInBytes(response, type, make(message.id, Math.round(bytes * Number(text ?? 1))));
    return true;
  },
});

/** Everything hostile that is tried. */
export const LOADS: readonly Load[] = [
  {
    name: "a request of 9 MB, each byte in a chunk of its own",
    stage: {},
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 0.05, maxMegabytes: 150 },
    async run(stage, scale) {
      const body = call(1, "x".repeat(LARGE * scale));
      const socket = await dial({ port: stage.port });
      let heard = "";
      socket.on("data", (chunk: Buffer) => (heard += chunk.toString("latin1")));
      socket.write(write({ headers: [...HEADERS, ["Transfer-Encoding", "chunked"]] }));
      // Large chunks first: then the system gives the connection a large buffer, and one look at it brings many reads.
      const blanks = Buffer.from(`80000\r\n${" ".repeat(MEGABYTE / 2)}\r\n`);
      await pour(socket, [blanks, ...chunkBytes(body)]);
      const isHeard = await becomes(() => heard.includes("200 OK"), 30_000);
      socket.destroy();
      return { "it is answered": isHeard };
    },
  },
  {
    name: "a JSON answer of 9 MB, each byte in a chunk of its own",
    stage: inBytes("application/json", result, LARGE),
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 0.1, maxMegabytes: 120 },
    run: async (stage, scale) => ({ "it is answered": await isAnswered(stage, call(1, String(scale))) }),
  },
  {
    name: "an event of 9 MB, each byte in a chunk of its own",
    stage: inBytes("text/event-stream", (id, bytes) => `data: ${result(id, bytes)}\n\n`, LARGE),
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 0.1, maxMegabytes: 120 },
    run: async (stage, scale) => ({ "it is answered": await isAnswered(stage, call(1, String(scale))) }),
  },
  {
    name: "an event of 9 MB in lines of one byte",
    stage: inBytes(
      "text/event-stream",
      (id, bytes) => `${":\r".repeat(bytes / 4)}${"data:\r".repeat(bytes / 12)}data: ${result(id, 1)}\r\r`,
      LARGE,
    ),
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 0.05, maxMegabytes: 150 },
    run: async (stage, scale) => ({ "it is answered": await isAnswered(stage, call(1, String(scale))) }),
  },
  {
    name: "80 answers of 9 MB as JSON that nobody reads",
    stage: { answer: answerLarge("json") },
    maxMegabytes: 700,
    maxStallMs: 1000,
    short: { scale: 0.4, maxMegabytes: 600 },
    run: leaveUnread,
  },
  {
    name: "80 answers of 9 MB as events that nobody reads",
    stage: { answer: answerLarge("event") },
    maxMegabytes: 700,
    maxStallMs: 1000,
    short: null, // it takes seconds until one that stands still is given up
    run: leaveUnread,
  },
  {
    name: "3,000 requests on one connection, one behind the other, and a server that takes its time",
    stage: {
      answer({ message, response }) {
        if (message.method !== "tools/call") return false;
        const text = result(message.id, 1);
        const respond = (): void => {
          response.writeHead(200, { "Content-Type": "application/json" });
          response.end(text);
        };
        if (text.includes('"id":-1')) respond();
        else setTimeout(respond, 50);
        return true;
      },
    },
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 0.2, maxMegabytes: 150 },
    async run(stage, scale) {
      const socket = await dial({ port: stage.port });
      let answers = 0;
      socket.on("data", (chunk: Buffer) => (answers += chunk.toString("latin1").split("HTTP/1.1 ").length - 1));
      const count = 3000 * scale;
      for (let nth = 0; nth < count; nth++) socket.write(write({ headers: HEADERS, body: call(nth) }));
      const isServed = await isAnswered(stage, call(-1));
      const isWhole = await becomes(() => answers >= count, 30_000);
      socket.destroy();
      return {
        "others are served": isServed,
        "at most 1,000 are open": stage.mostOpen() <= 1000,
        "every one is answered": isWhole,
      };
    },
  },
  {
    name: "100 requests of 9 MB that are never finished",
    stage: {},
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: null,
    async run(stage, scale) {
      const sockets: Socket[] = [];
      for (let nth = 0; nth < 100 * scale; nth++) {
        const socket = await dial({ port: stage.port });
        sockets.push(socket);
        socket.write(write({ headers: [...HEADERS, ["Content-Length", String(LARGE + 1)]] }));
        await pour(socket, Array<Buffer>(9).fill(Buffer.alloc(MEGABYTE, "x")));
      }
      await delay(500);
      const isServed = await isAnswered(stage, call(1));
      for (const socket of sockets) socket.destroy();
      return { "others are served": isServed };
    },
  },
  {
    name: "100 requests of 9 MB to a server that does not read",
    stage: {
      take(request) {
        if (Number(request.headers["content-length"]) < MEGABYTE) return false;
        request.pause();
        return true;
      },
    },
    maxMegabytes: 400,
    maxStallMs: 1000,
    short: { scale: 0.1, maxMegabytes: 400 },
    async run(stage, scale) {
      const sockets: Socket[] = [];
      const body = call(1, "x".repeat(LARGE));
      for (let nth = 0; nth < 100 * scale; nth++) {
        const socket = await dial({ port: stage.port });
        sockets.push(socket.on("data", () => {}));
        await pour(socket, [write({ headers: HEADERS, body })]);
      }
      await delay(500);
      const isServed = await isAnswered(stage, call(1));
      for (const socket of sockets) socket.destroy();
      return { "others are served": isServed };
    },
  },
  {
    name: "12,000 sessions whose requests have 8 kB of headers",
    stage: {},
    maxMegabytes: 280,
    maxStallMs: 1000,
    short: { scale: 0.05, maxMegabytes: 150 },
    async run(stage, scale) {
      let opened = 0;
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params });
      const headers = [...HEADERS, ...Array.from({ length: 8 }, (_, nth) => [`X-${nth}`, "h".repeat(1000)] as const)];
      const one = write({ headers, body });
      const open = async (): Promise<void> => {
        const socket = await dial({ port: stage.port });
        let heard = 0;
        socket.on("data", (chunk: Buffer) => (heard += chunk.toString("latin1").split("s1").length > 0 ? 1 : 0));
        for (let nth = 0; nth < (12_000 * scale) / 20; nth++) {
          const before = heard;
          socket.write(one);
          if (!(await becomes(() => heard > before, 10_000))) return;
          opened++;
        }
        socket.destroy();
      };
      await Promise.all(Array.from({ length: 20 }, open));
      return { "all are opened": opened >= 12_000 * scale };
    },
  },
  {
    name: "few file descriptors, and clients that want them all",
    stage: { descriptors: 160, answer: ({ message }) => message.id === "never" },
    maxMegabytes: 200,
    maxStallMs: 1000,
    short: { scale: 1, maxMegabytes: 150 },
    async run(stage) {
      const sockets: Socket[] = [];
      const never = write({ headers: HEADERS, body: call(0).replace('"id":0', '"id":"never"') });
      for (let nth = 0; nth < 100; nth++) {
        const socket = await dial({ port: stage.port });
        sockets.push(socket.on("data", () => {}));
        for (let times = 0; times < 4; times++) socket.write(never);
      }
      await delay(300);
      const isServed = await isAnswered({ ...stage, localAddress: "127.0.0.2" }, call(1));
      const log = stage.gateway.stderr();
      for (const socket of sockets) socket.destroy();
      await becomes(() => stage.open() === 0, 5000);
      return {
        "others are served": isServed,
        "the start says how few there are": log.includes(
          "the limit on open files and sockets is low: fewer connections are accepted",
        ),
        "who is turned away is in the log": log.includes("http:connections"),
        "everybody is served afterwards": await isAnswered(stage, call(2)),
      };
    },
  },
  {
    name: "80 answers of 9 MB of a process that nobody reads",
    stage: { command: fixture("obliging.mjs") },
    maxMegabytes: 700,
    maxStallMs: 1000,
    short: null,
    async run(stage, scale) {
      const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`;
      const large = (bytes: number): string =>
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"large","arguments":{"bytes":${bytes}},${meta}}}`;
      const headers = [
        ...HEADERS,
        ["MCP-Protocol-Version", "2026-07-28"],
        ["Mcp-Method", "tools/call"],
        ["Mcp-Name", "large"],
      ] as const;
      const sockets: Socket[] = [];
      for (let nth = 0; nth < 80 * scale; nth++) {
        const socket = await dial({ port: stage.port });
        sockets.push(socket);
        socket.write(write({ headers, body: large(LARGE) }));
        // The first of it is read, and nothing more. The process writes one answer after the other.
        await Promise.race([new Promise((resolve) => socket.once("data", resolve)), delay(10_000)]);
        socket.pause();
      }
      const answer = await ask({ port: stage.port }, { headers, body: large(10) });
      for (const socket of sockets) socket.destroy();
      return { "others are served": answer.status === 200 && answer.body.includes('"result"') };
    },
  },
  ...MESSAGES,
];
