import { HTTP } from "./http/suite.ts";
import { LINES } from "./lines.ts";
import { type RunOptions, runSuite } from "./run-suite.ts";

/**
 * Runs the suite for stdio, or for HTTP if the first argument says so. Returns the exit code: 1 if a target is missed.
 */
export function main({ args, ...folders }: RunOptions): Promise<number> {
  const [word, ...rest] = args;
  return word === "http" ? runSuite(HTTP, { args: rest, ...folders }) : runSuite(LINES, { args, ...folders });
}
