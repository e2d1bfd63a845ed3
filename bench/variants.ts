import { join } from "node:path";

/** What stands between the driver and the echo server. */
export type Variant = "direct" | "cat" | "pipe" | "parse" | "fairlead" | "filter" | "other";

/** The command line of each variant. */
export type Commands = Readonly<Record<Variant, readonly string[]>>;

/** What the commands are made of. */
export interface CommandOptions {
  /** The folder of the project. */
  readonly root: string;
  /** The built command, and another build of it to compare with. */
  readonly fairlead: string;
  readonly other: string | null;
  /** Whether the server parses every line, as most do. */
  readonly parsing: boolean;
}

/** The command lines: the same echo server behind each of them. */
export function composeCommands({ root, fairlead, other, parsing }: CommandOptions): Commands {
  const program = (name: string): string => join(root, "bench", "programs", name);
  const node = process.execPath;
  const server = [node, program(ECHO), ...(parsing ? ["--parse"] : [])];
  return {
    direct: server,
    cat: ["/bin/sh", "-c", 'cat | "$0" "$@" | cat', ...server],
    pipe: [node, program("pipe.cjs"), ...server],
    parse: [node, program("parse.cjs"), ...server],
    // By its own first line, as a shell or npx starts it.
    fairlead: [fairlead, "--", ...server],
    filter: [fairlead, "--deny", "^file_", "--", ...server],
    other: [other ?? fairlead, "--", ...server],
  };
}

/** The file name by which the echo server is told from what stands before it. */
export const ECHO = "echo.cjs";

/** What each variant is called in a table. */
export const TITLES: Readonly<Record<Variant, string>> = {
  direct: "direct",
  cat: "cat",
  pipe: "pipe()",
  parse: "parse relay",
  fairlead: "Fairlead",
  filter: "Fairlead --deny",
  other: "other build",
};
