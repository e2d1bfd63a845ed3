import { join } from "node:path";
import type { Ground } from "./suite.ts";
import type { Wording } from "./table.ts";

/** What is between the driver and the echo server. */
export type Variant = "direct" | "cat" | "pipe" | "parse" | "fairlead" | "filter" | "other";

/** The command line of each variant. */
export type Commands = Readonly<Record<Variant, readonly string[]>>;

/** Makes the command lines. Each has the same echo server behind it. */
export function composeCommands({ root, fairlead, other, parsing }: Ground): Commands {
  const program = (name: string): string => join(root, "bench", "programs", name);
  const node = process.execPath;
  const server = [node, program(ECHO), ...(parsing ? ["--parse"] : [])];
  return {
    direct: server,
    cat: ["/bin/sh", "-c", 'cat | "$0" "$@" | cat', ...server],
    pipe: [node, program("pipe.cjs"), ...server],
    parse: [node, program("parse.cjs"), ...server],
    // Started by its shebang, as a shell or npx does.
    fairlead: [fairlead, "--", ...server],
    filter: [fairlead, "--deny", "^file_", "--", ...server],
    other: [other ?? fairlead, "--", ...server],
  };
}

/** The file name that identifies the echo server among the processes. */
export const ECHO = "echo.cjs";

/** The title of each variant. */
const TITLES: Readonly<Record<Variant, string>> = {
  direct: "direct",
  cat: "cat",
  pipe: "pipe()",
  parse: "parse relay",
  fairlead: "Fairlead",
  filter: "Fairlead --deny",
  other: "other build",
};

const BASELINES: readonly Variant[] = ["direct", "cat", "pipe", "parse"];

/** The wording of the table. */
export const WORDING: Wording = {
  columns: BASELINES.map((variant) => ({ title: TITLES[variant], variant: () => variant })),
  titles: TITLES,
};
