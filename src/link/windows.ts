/** A command as it has to be started here. */
export interface CommandLine {
  readonly command: string;
  readonly args: string[];
  /** Whether the arguments are quoted already. */
  readonly verbatim: boolean;
}

/**
 * On Windows `npx` and its like are batch files, which only the command interpreter can run.
 * Everything else is started as it is.
 */
export function commandLine(command: string, args: readonly string[], platform = process.platform): CommandLine {
  if (platform !== "win32") return { command, args: [...args], verbatim: false };
  const isBatch = /\.(?:cmd|bat)$/i.test(command) || /^(?:npx|npm|pnpm|pnpx|yarn|yarnpkg|uvx\.cmd)$/i.test(command);
  if (!isBatch) return { command, args: [...args], verbatim: false };
  const script = /\.(?:cmd|bat)$/i.test(command) ? command : `${command}.cmd`;
  const words = [script, ...args].map(quote).join(" ");
  return { command: "cmd.exe", args: ["/d", "/s", "/c", `"${words}"`], verbatim: true };
}

/** One word for the interpreter: quoted for the program that gets it, then for the interpreter itself. */
function quote(word: string): string {
  const quoted = `"${word.replaceAll(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, "$1$1")}"`;
  return quoted.replaceAll(/[()\][%!^"`<>&|;, *?]/g, "^$&");
}
