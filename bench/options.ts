import { parseArgs } from "node:util";

/** The options of a run. */
export interface Options {
  readonly rounds: number;
  readonly only: readonly string[];
  /** The command to measure, and another build to compare with. */
  readonly command: string | null;
  readonly other: string | null;
  /** Whether the echo server parses every message. */
  readonly parsing: boolean;
  /** The file for the numbers, and a file to read them from instead of measuring. */
  readonly json: string | null;
  readonly from: string | null;
  readonly write: boolean;
  /** Whether rounds that other processes disturbed are measured again. */
  readonly patient: boolean;
  readonly seed: number;
  readonly help: boolean;
}

/** Fewer rounds than this are not enough for the table. */
export const LEAST_ROUNDS = 15;
const QUICK_ROUNDS = 3;

/** Parses the command line. Throws an error with a readable message if it is not valid. */
export function readOptions(args: readonly string[], measures: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      only: { type: "string", multiple: true, default: [] },
      command: { type: "string" },
      other: { type: "string" },
      "parsing-server": { type: "boolean", default: false },
      json: { type: "string" },
      from: { type: "string" },
      write: { type: "boolean", default: false },
      patient: { type: "boolean", default: false },
      seed: { type: "string", default: String(Date.now() % 100_000) },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const only = values.only.flatMap((names) => names.split(","));
  const unknown = only.find((name) => !measures.includes(name));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: there is ${measures.join(", ")}`);
  const rounds = Number(values.rounds ?? (values.quick ? QUICK_ROUNDS : LEAST_ROUNDS));
  if (!(rounds >= 1)) throw new Error("--rounds takes a number");
  return {
    rounds,
    only,
    command: values.command ?? null,
    other: values.other ?? null,
    parsing: values["parsing-server"],
    json: values.json ?? null,
    from: values.from ?? null,
    write: values.write,
    patient: values.patient,
    seed: Number(values.seed),
    help: values.help,
  };
}

/** The help text. */
export function composeHelp({ about }: { readonly about: string }, measures: readonly string[]): string {
  return `${about}

  npm run bench -- [options]         stdio on both sides
  npm run bench -- http [options]    HTTP on one side or both
  npm run bench -- micro             the same work inside one process, many times over
  npm run bench -- cold              and one message at a time with cold caches

  --quick            ${QUICK_ROUNDS} rounds instead of ${LEAST_ROUNDS}
  --rounds <n>       so many rounds
  --only <name>      one measure, or several with commas: ${measures.join(", ")}
  --command <file>   measure this build of the command, without building
  --other <file>     measure another build beside it
  --parsing-server   an echo server that calls JSON.parse on every message, as most servers do
  --json <file>      write every value of every round to a file
  --from <file>      print the table of such a file, without measuring
  --write            put the table into docs/benchmarks.md; needs every measure and ${LEAST_ROUNDS} rounds
  --patient          wait for a quiet machine, and measure again what others disturbed
  --seed <n>         the order of chance in which variants take turns
`;
}
