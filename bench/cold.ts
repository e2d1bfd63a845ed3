import { parseArgs } from "node:util";
import type { Direction } from "../src/message/message.ts";
import { createPath, createSink } from "./path.ts";
import { quantile } from "./statistics.ts";
import { composeText } from "./table.ts";

/** The functions that take the bytes of a request and of its response. */
interface Way {
  readonly name: string;
  readonly up: (chunk: Buffer) => void;
  readonly down: (chunk: Buffer) => void;
  readonly times: { readonly up: number[]; readonly down: number[] };
}

/**
 * Measures one request and its response at a time with cold caches, as they are when processes take turns on a core:
 * then the cost depends on how much code and memory a message touches. This is a hint for tuning; its results on
 * latency have to be confirmed by the latency measurements.
 */
export async function main({ args }: { readonly args: readonly string[] }): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: { turns: { type: "string", default: "800" } } });
  const ways = composeWays();
  let id = 0;
  for (let nth = 0; nth < WARM; nth++) {
    for (const { up, down } of ways) {
      up(composeCall(++id));
      down(composeAnswer(id));
    }
  }
  for (let turn = 0; turn < Number(values.turns); turn++) {
    for (const { up, down, times } of ways) {
      times.up.push(time(up, composeCall(++id)));
      times.down.push(time(down, composeAnswer(id)));
    }
  }
  const [pipe, parse] = ways.map(({ times }) => best(times.up) + best(times.down));
  const rows = ways.map(({ name, times: { up, down } }) => {
    const ratio = (best(up) + best(down) - pipe) / (parse - pipe);
    return [name, `${best(up).toFixed(1)} µs`, `${best(down).toFixed(1)} µs`, ratio.toFixed(2)];
  });
  process.stdout.write(`${composeText([["", "call", "answer", "added ÷ parse relay’s added"], ...rows])}\n`);
  return 0;
}

const WARM = 20_000;

/** The time of the fastest tenth, in microseconds: slower values include work of other processes. */
function best(times: readonly number[]): number {
  return quantile(times, 0.1) / 1000;
}

function composeWays(): Way[] {
  const sink = createSink();
  const write = (chunk: Buffer): void => void sink.write(chunk);
  const open = createPath(false);
  const filtering = createPath(true);
  const way = (name: string, up: Way["up"], down: Way["down"]): Way => ({
    name,
    up,
    down,
    times: { up: [], down: [] },
  });
  const through = (path: typeof open, direction: Direction) => (chunk: Buffer) => path.push(direction, chunk);
  return [
    way("pipe()", write, write),
    way("parse relay", parseInto(write), parseInto(write)),
    way("Fairlead", through(open, "up"), through(open, "down")),
    way("Fairlead --deny", through(filtering, "up"), through(filtering, "down")),
  ];
}

/** Handles a chunk as the parse relay does. */
function parseInto(write: (line: Buffer) => void): (chunk: Buffer) => void {
  return (chunk) => {
    let start = 0;
    for (let newline = chunk.indexOf(LF); newline >= 0; newline = chunk.indexOf(LF, start)) {
      const line = chunk.subarray(start, newline + 1);
      start = newline + 1;
      JSON.parse(line.toString("utf8"));
      write(line);
    }
  };
}

const LF = 0x0a;
const OTHERS = new Uint8Array(8 * 1024 * 1024);

/** Nanoseconds for one chunk, after all caches have been filled with other data. */
function time(take: (chunk: Buffer) => void, chunk: Buffer): number {
  for (let at = 0; at < OTHERS.length; at += 64) OTHERS[at]++;
  const began = process.hrtime.bigint();
  take(chunk);
  return Number(process.hrtime.bigint() - began);
}

function composeCall(id: number): Buffer {
  const params = '{"name":"text_1","arguments":{"message":"hi"}}';
  return Buffer.from(`{"method":"tools/call","params":${params},"jsonrpc":"2.0","id":${id}}\n`);
}

function composeAnswer(id: number): Buffer {
  return Buffer.from(`{"result":{"content":[{"type":"text","text":"hello"}]},"jsonrpc":"2.0","id":${id}}\n`);
}
