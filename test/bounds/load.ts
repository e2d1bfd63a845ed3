import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { ask, dial, type Place, write } from "../support/raw-http.ts";
import { setStage, type Stage, type StageOptions } from "./stage.ts";

/** Something hostile, and what it may cost. */
export interface Load {
  readonly name: string;
  readonly stage: StageOptions;
  /** Megabytes of resident memory, at the most. */
  readonly maxMegabytes: number;
  /** Milliseconds for which the event loop may stand still: nobody else is served meanwhile. */
  readonly maxStallMs: number;
  /** The share of it that is done in a short run, and what that may cost; null where it would be too little to show. */
  readonly short: { readonly scale: number; readonly maxMegabytes: number } | null;
  /** Does it. `scale` is 1 for all of it, and less for a short run. What it returns is checked to be true. */
  readonly run: (stage: Stage, scale: number) => Promise<Readonly<Record<string, boolean>>>;
}

/** What a load has cost. */
export interface Cost {
  readonly megabytes: number;
  readonly stallMs: number;
  /** How long another client waited for its answers, at the longest. */
  readonly waitMs: number;
  readonly seconds: number;
  readonly complaints: readonly string[];
}

/** Runs a load, and says what was wrong. */
export async function runLoad(load: Load, scale = 1, maxMegabytes = load.maxMegabytes): Promise<Cost> {
  const stage = await setStage(load.stage);
  const started = performance.now();
  const bystander = await standBy(stage);
  try {
    const found = await load.run(stage, scale);
    await delay(20); // the probe looks once more
    const waitMs = Math.round(bystander.end());
    const megabytes = Math.round(stage.peak());
    const stallMs = Math.round(stage.stall());
    const complaints = Object.entries(found).flatMap(([what, isSo]) => (isSo ? [] : [what]));
    if (megabytes > maxMegabytes) complaints.push(`${megabytes} MB of memory, more than ${maxMegabytes}`);
    if (stallMs > load.maxStallMs) complaints.push(`stood still for ${stallMs} ms, more than ${load.maxStallMs}`);
    if (waitMs > MAX_WAIT_MS) complaints.push(`another client waited for ${waitMs} ms, more than ${MAX_WAIT_MS}`);
    return { megabytes, stallMs, waitMs, seconds: (performance.now() - started) / 1000, complaints };
  } finally {
    await stage.end();
  }
}

/** Generous, because the load and the server are in this process, and others may be at work on the machine. */
const MAX_WAIT_MS = 5000;

/** Another client, from another address, that asks again and again. */
async function standBy({ port }: Stage): Promise<{ end(): number }> {
  const socket = await dial({ port, localAddress: "127.0.0.2" });
  const question = write({ headers: HEADERS, body: '{"jsonrpc":"2.0","id":"bystander","method":"ping"}' });
  let asked = performance.now();
  let longest = 0;
  let timer: NodeJS.Timeout | null = null;
  const next = (): void => {
    asked = performance.now();
    socket.write(question);
  };
  socket.on("data", () => {
    longest = Math.max(longest, performance.now() - asked);
    timer = setTimeout(next, 50);
  });
  next();
  return {
    end() {
      if (timer !== null) clearTimeout(timer);
      socket.destroy();
      // The last question may be without an answer.
      return timer === null ? Infinity : longest;
    },
  };
}

/** A megabyte. */
export const MEGABYTE = 1024 * 1024;
/** A little under the largest message. */
export const LARGE = 9 * MEGABYTE;
/** What clients send with every request. */
export const HEADERS = [
  ["Content-Type", "application/json"],
  ["Accept", "application/json, text/event-stream"],
] as const;

/** A call of a tool, with a text of this length. */
export function call(id: number, text = ""): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"${text}"}}}`;
}

/** An answer with so many bytes of text. */
export function result(id: unknown, bytes: number): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"${"x".repeat(bytes)}"}]}}`;
}

/** Every byte in a chunk of its own: six on the wire for each. */
export function* chunkBytes(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += 65_536) {
    const part = bytes.subarray(at, at + 65_536);
    const chunks = Buffer.alloc(part.length * 6, "1\r\nx\r\n");
    for (let nth = 0; nth < part.length; nth++) chunks[6 * nth + 3] = part[nth];
    yield chunks;
  }
  yield Buffer.from("0\r\n\r\n");
}

/** Waits until a socket takes more, or is gone. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off("drain", done);
      socket.off("close", done);
      resolve();
    };
    socket.on("drain", done).on("close", done);
  });
}

/** Writes as fast as the other side reads. */
export async function pour(socket: Socket, blocks: Iterable<Buffer>): Promise<void> {
  for (const block of blocks) {
    if (socket.destroyed) return;
    if (!socket.write(block)) await drained(socket);
  }
}

/** Answers by hand, past Node's own writing: every byte in a chunk of its own. */
export function answerInBytes({ socket }: ServerResponse, type: string, text: string): void {
  if (socket === null) return;
  socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`);
  void pour(socket, chunkBytes(text));
}

/** Asks, reads all of the answer, and says whether it was one. */
export async function isAnswered(place: Place, body: string, part = '"result"'): Promise<boolean> {
  const answer = await ask(place, { headers: HEADERS, body });
  return answer.status === 200 && answer.body.includes(part);
}

/** Waits until something is so, or for so long. Says whether it became so. */
export async function becomes(isSo: () => boolean, withinMs: number): Promise<boolean> {
  for (const until = performance.now() + withinMs; !isSo(); await delay(20))
    if (performance.now() > until) return false;
  return true;
}

/** Sends a request, and reads nothing of the answer. */
export async function askDeafly({ port }: Stage, body: string): Promise<Socket> {
  const socket = await dial({ port });
  socket.pause();
  socket.write(write({ headers: HEADERS, body }));
  return socket;
}
