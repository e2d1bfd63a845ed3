import { readFileSync, writeFileSync } from "node:fs";
import { describeMachine, type Machine, MAX_QUIET_LOAD, showMachine } from "./machine.ts";
import { composeHelp, LEAST_ROUNDS, type Options, readOptions } from "./options.ts";
import { writePage } from "./page.ts";
import { killChildren } from "./processes.ts";
import { fillRow, type Samples } from "./result.ts";
import { type Folders, runRounds, say } from "./rounds.ts";
import { watchForSilence } from "./silence.ts";
import type { Suite } from "./suite.ts";
import { composeCells, composeMarkdown, composeText } from "./table.ts";

/** The options of a run. */
export interface RunOptions extends Folders {
  readonly args: readonly string[];
}

/** Everything that a run has found, in the form that --json writes. */
interface Run {
  readonly machine: Machine;
  readonly command: string;
  readonly rounds: number;
  readonly samples: Samples;
  readonly remarks: readonly string[];
}

/** Measures, and prints the table. Returns the exit code: 1 if a target is missed. */
export async function runSuite<Stage>(suite: Suite<Stage>, given: RunOptions): Promise<number> {
  const names = suite.measures.map((measure) => measure.name);
  const options = readOptions(given.args, names);
  if (options.help) {
    process.stdout.write(composeHelp(suite, names));
    return 0;
  }
  if (options.write && options.from === null && !isWhole(options)) {
    throw new Error(`--write needs every measure, our own server and at least ${LEAST_ROUNDS} rounds`);
  }
  const found =
    options.from === null ? await run(suite, options, given) : (JSON.parse(readFileSync(options.from, "utf8")) as Run);
  if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(found)}\n`);
  const results = suite.rows.map((row) => fillRow(row, found.samples)).filter((result) => result !== null);
  const cells = composeCells(results, suite.wording);
  const where = [`${showMachine(found.machine)}; ${found.rounds} rounds`, ...found.remarks].join("; ");
  process.stdout.write(`${composeText(cells)}\n\n${where}\n`);
  if (options.write)
    writePage(given.root, suite.marker, `${composeMarkdown(cells)}\n\n${where}: \`${found.command}\`.`);
  return results.some((result) => result.outcome === "FAIL") ? 1 : 0;
}

/** Whether a run is complete enough for the table. */
function isWhole({ only, rounds, other, parsing }: Options): boolean {
  return only.length === 0 && rounds >= LEAST_ROUNDS && other === null && !parsing;
}

async function run<Stage>(suite: Suite<Stage>, options: Options, { args, ...folders }: RunOptions): Promise<Run> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));
  process.on("exit", killChildren);
  watchForSilence();
  const machine = describeMachine();
  if (machine.load > MAX_QUIET_LOAD) say(`Load is ${machine.load.toFixed(2)}: the numbers may be noisy.`);
  const { samples, others, remarks } = await runRounds(suite, options, folders);
  return {
    machine: { ...machine, others },
    command: composeLine(suite, args),
    rounds: options.rounds,
    samples,
    remarks,
  };
}

function composeLine({ command }: { readonly command: string }, args: readonly string[]): string {
  if (args.length === 0) return command;
  return [command, ...(command.includes(" -- ") ? [] : ["--"]), ...args].join(" ");
}
