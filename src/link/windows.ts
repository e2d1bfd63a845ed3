import { existsSync } from "node:fs";
import { win32 } from "node:path";

/** A command in the form in which it has to be started on this machine. */
export interface CommandLine {
  readonly command: string;
  readonly args: string[];
  /** Whether the arguments are quoted already. */
  readonly verbatim: boolean;
}

/** What the command line depends on. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly exists: (file: string) => boolean;
}

const HERE: Machine = { platform: process.platform, env: process.env, exists: existsSync };

/**
 * On Windows `npx` and most of what npm installs are batch files, which only the command
 * interpreter can run. Everything else is started as it is.
 */
export function commandLine(command: string, args: readonly string[], machine = HERE): CommandLine {
  const asIs = { command, args: [...args], verbatim: false };
  if (machine.platform !== "win32") return asIs;
  const script = findBatchFile(command, machine);
  if (script === null) return asIs;
  const words = [script, ...args].map(quote).join(" ");
  return { command: "cmd.exe", args: ["/d", "/s", "/c", `"${words}"`], verbatim: true };
}

/** The batch file that a command refers to; null if it is a program or cannot be found. */
function findBatchFile(command: string, { env, exists }: Machine): string | null {
  if (BATCH.test(command)) return command;
  if (win32.extname(command) !== "" && PROGRAM.test(command)) return null;
  const endings = (env["PATHEXT"] ?? ".COM;.EXE;.BAT;.CMD").split(";").filter((ending) => ending !== "");
  const folders = /[\\/]/.test(command)
    ? [""]
    : (env["Path"] ?? env["PATH"] ?? "").split(";").filter((one) => one !== "");
  for (const folder of folders) {
    for (const ending of endings) {
      const file = win32.join(folder, `${command}${ending.toLowerCase()}`);
      if (exists(file)) return BATCH.test(file) ? file : null;
    }
  }
  return null;
}

const BATCH = /\.(?:cmd|bat)$/i;
const PROGRAM = /\.(?:exe|com)$/i;

/**
 * Quotes one argument for the command interpreter: first for the program that receives it, then for the interpreter
 * itself.
 */
function quote(word: string): string {
  const quoted = `"${word.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, "$1$1")}"`;
  return quoted.replaceAll(/[()\][%!^"`<>&|;, *?]/g, "^$&");
}
