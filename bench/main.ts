import { readFileSync, writeFileSync } from "node:fs";
import { describeMachine, type Machine, MAX_QUIET_LOAD, showMachine } from "./machine.ts";
import type { Measure } from "./measure.ts";
import { bytes } from "./measures/bytes.ts";
import { flood } from "./measures/flood.ts";
import { large } from "./measures/large.ts";
import { latency } from "./measures/latency.ts";
import { memory } from "./measures/memory.ts";
import { pipelined } from "./measures/pipelined.ts";
import { refused } from "./measures/refused.ts";
import { start } from "./measures/start.ts";
import { composeHelp, LEAST_ROUNDS, type Options, readOptions } from "./options.ts";
import { writePage } from "./page.ts";
import { watchForSilence } from "./peer.ts";
import { killFamily } from "./processes.ts";
import { fillRow, type Samples } from "./result.ts";
import { say, runRounds } from "./rounds.ts";
import { ROWS } from "./rows.ts";
import { composeCells, composeMarkdown, composeText } from "./table.ts";

/** What a run is given. */
export interface RunOptions {
  readonly args: readonly string[];
  readonly root: string;
  /** The built command. */
  readonly command: string;
  /** A folder for what is needed during the run. */
  readonly folder: string;
}

const MEASURES: readonly Measure[] = [latency, pipelined, flood, large, bytes, start, memory, refused];
const NAMES = MEASURES.map((measure) => measure.name);

/** Everything a run found, as --json keeps it. */
interface Run {
  readonly machine: Machine;
  readonly command: string;
  readonly rounds: number;
  readonly samples: Samples;
}

/** Measures, and prints the table. Returns the exit code: 1 where a target is missed. */
export async function main({ args, root, command, folder }: RunOptions): Promise<number> {
  const options = readOptions(args, NAMES);
  if (options.help) {
    process.stdout.write(composeHelp(NAMES));
    return 0;
  }
  if (options.write && options.from === null && !isWhole(options)) {
    throw new Error(`--write needs every measure, our own server and at least ${LEAST_ROUNDS} rounds`);
  }
  const found =
    options.from === null
      ? await run(options, { args, root, command, folder })
      : (JSON.parse(readFileSync(options.from, "utf8")) as Run);
  if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(found)}\n`);
  const results = ROWS.map((row) => fillRow(row, found.samples)).filter((result) => result !== null);
  const cells = composeCells(results);
  const where = `${showMachine(found.machine)}; ${found.rounds} rounds`;
  process.stdout.write(`${composeText(cells)}\n\n${where}\n`);
  if (options.write) writePage(root, `${composeMarkdown(cells)}\n\n${where}: \`${found.command}\`.`);
  return results.some((result) => result.outcome === "FAIL") ? 1 : 0;
}

/** Whether a run is one for the table. */
function isWhole({ only, rounds, other, parsing }: Options): boolean {
  return only.length === 0 && rounds >= LEAST_ROUNDS && other === null && !parsing;
}

async function run(options: Options, { args, root, command, folder }: RunOptions): Promise<Run> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
  process.on("exit", killFamily);
  watchForSilence();
  const machine = describeMachine();
  if (machine.load > MAX_QUIET_LOAD) say(`Load is ${machine.load.toFixed(2)}: the numbers may be noisy.`);
  const measures = MEASURES.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  const { samples, others } = await runRounds(measures, options, { root, command, folder });
  const line = ["npm run bench", ...(args.length === 0 ? [] : ["--", ...args])].join(" ");
  return { machine: { ...machine, others }, command: line, rounds: options.rounds, samples };
}
