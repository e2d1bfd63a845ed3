import type { ProxyError } from "../errors.ts";
import type { Parsed } from "./command-line.ts";
import { findCommand } from "./commands.ts";
import { type Complaint, createErrorOutput, type ErrorOutput } from "./error-output.ts";
import { composeHelp } from "./help.ts";
import { checkTogether, unknownCommand, unknownTopic } from "./mistakes.ts";
import { parseCommandLine } from "./options.ts";
import { print } from "./output.ts";
import { runProxy } from "./run.ts";
import { showWord, usage } from "./usage.ts";
import { version } from "./version.ts";

/** Runs the command line, and resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const errors = createErrorOutput(args);
  try {
    return await dispatch(args, errors);
  } catch (error) {
    await errors.error(isProxyError(error) ? error : describeFault(error));
    return args[0] === "audit" ? 2 : 1; // for `audit`, 1 means findings
  }
}

async function dispatch(args: readonly string[], errors: ErrorOutput): Promise<number> {
  // The first word is the command, unless an option comes before it.
  const first = args[0];
  const name = first === undefined || first.startsWith("-") ? "" : first;
  const command = first === "" ? undefined : findCommand(name);
  if (command === undefined) throw unknownCommand(args);
  const parsed = parseCommandLine(name === "" ? args : args.slice(1), command);
  if (parsed.values.has("help")) return show(composeHelp(command));
  if (parsed.values.has("version")) return show(`fairlead ${version()}\n`);
  // With a policy file, the options are checked after it is read, because the file may set what they need.
  if (!parsed.values.has("config")) checkTogether(parsed, command);
  switch (command.name) {
    case "":
      if (args.length === 0) return show(composeHelp(command));
      return runProxy(parsed, command, errors);
    case "help":
      return help(parsed);
    case "version":
      return show(`fairlead ${version()}\n`);
    case "tools":
      return (await import("./tools.ts")).runTools(parsed, command, errors);
    case "check":
      return (await import("./check.ts")).runCheck(parsed);
    case "explain":
      return (await import("./explain.ts")).runExplain(parsed);
    case "audit":
      return (await import("./audit.ts")).runAudit(parsed, errors);
    case "demo-server":
      return (await import("./demo-server.ts")).runDemoServer();
    case "demo":
      return (await import("./demo.ts")).runDemo();
    default:
      throw new Error(`no such command: ${command.name}`);
  }
}

function help({ words, rest }: Parsed): Promise<number> {
  const [name = "", extra = rest?.[0]] = words;
  if (extra !== undefined) throw usage(`Unexpected word: ${showWord(extra)}`, "Write fairlead help [command]");
  const command = findCommand(name);
  if (command === undefined) throw unknownTopic(name);
  return show(composeHelp(command));
}

async function show(text: string): Promise<number> {
  await print(text);
  return 0;
}

/** Describes an internal error. The stack trace helps to fix it. */
function describeFault(error: unknown): Complaint {
  const message = `internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  return { message, remedy: "This is a fault in Fairlead: please report it with the lines above" };
}

// Compared by name, because bundled chunks that are loaded later have their own copy of the class.
function isProxyError(error: unknown): error is ProxyError {
  return error instanceof Error && error.name === "ProxyError";
}
