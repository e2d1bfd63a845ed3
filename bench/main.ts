import { HTTP } from "./http/suite.ts";
import { LINES } from "./lines.ts";
import { type RunOptions, runSuite } from "./run-suite.ts";

/** Measures stdio, or HTTP where the first word says so. Returns the exit code: 1 where a target is missed. */
export function main({ args, ...folders }: RunOptions): Promise<number> {
  const [word, ...rest] = args;
  return word === "http" ? runSuite(HTTP, { args: rest, ...folders }) : runSuite(LINES, { args, ...folders });
}
