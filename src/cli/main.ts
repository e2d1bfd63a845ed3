import { ProxyError } from "../errors.ts";
import { COMMANDS, findCommand } from "./commands.ts";
import { composeHelp } from "./help.ts";
import { nearest } from "./nearest.ts";
import { type Parsed, parseCommandLine, usage } from "./options.ts";
import { runProxy } from "./run.ts";
import { version } from "./version.ts";

/** Does what the command line says, and resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args);
  } catch (error) {
    if (!isProxyError(error)) throw error;
    process.stderr.write(`Error: ${error.message}\n${error.remedy}\n`);
    return args[0] === "audit" ? 2 : 1; // there, 1 is for findings
  }
}

async function dispatch(args: readonly string[]): Promise<number> {
  // The command is the first word, if it stands before anything else.
  const first = args[0];
  const name = first === undefined || first.startsWith("-") ? "" : first;
  const command = findCommand(name);
  if (command === undefined) throw unknownCommand(name, args);
  const parsed = parseCommandLine(name === "" ? args : args.slice(1), command.options);
  if (parsed.values.has("help")) return print(composeHelp(command));
  if (parsed.values.has("version")) return print(`fairlead ${version()}\n`);
  switch (command.name) {
    case "":
      if (args.length === 0) return print(composeHelp(command));
      noWords(parsed);
      return runProxy(parsed);
    case "help":
      return help(parsed);
    case "version":
      return print(`fairlead ${version()}\n`);
    case "tools":
      noWords(parsed);
      return (await import("./tools.ts")).runTools(parsed);
    case "audit":
      return (await import("./audit.ts")).runAudit(parsed);
    case "demo-server":
      return (await import("./demo-server.ts")).runDemoServer();
    case "demo":
      return (await import("./demo.ts")).runDemo();
    default:
      throw new Error(`no such command: ${command.name}`);
  }
}

function help(parsed: Parsed): number {
  const [name = ""] = parsed.words;
  const command = findCommand(name);
  if (command === undefined) throw unknownCommand(name, []);
  return print(composeHelp(command));
}

function noWords({ words, rest }: Parsed): void {
  if (words.length === 0) return;
  const remedy =
    rest === null ? `Write the server's command after two dashes: fairlead -- ${words.join(" ")}` : "See fairlead help";
  throw usage(`Unexpected word: ${words[0]}`, remedy);
}

function unknownCommand(name: string, args: readonly string[]): ProxyError {
  const hint = nearest(
    name,
    COMMANDS.map((command) => command.name),
  );
  if (hint !== null) return usage(`Unknown command: ${name}`, `Did you mean fairlead ${hint}?`);
  const remedy = args.includes("--") ? "See fairlead help" : `To start a server, write: fairlead -- ${args.join(" ")}`;
  return usage(`Unknown command: ${name}`, remedy);
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

// By name, because the parts of the command that are loaded late have a class of their own.
function isProxyError(error: unknown): error is ProxyError {
  return error instanceof Error && error.name === "ProxyError";
}
