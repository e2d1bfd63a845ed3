import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { isatty } from "node:tty";
import type { LogSettings } from "../config/settings.ts";
import { ProxyError } from "../errors.ts";
import { parsePatternList, type Pattern } from "../policy/patterns.ts";
import { createLog, type Log } from "../record/log/log.ts";
import type { Parsed } from "./command-line.ts";
import { EXAMPLE_SERVER, showLine, showWord, usage } from "./usage.ts";

/** The value of an option that does not repeat. */
export function value(parsed: Parsed, name: string): string | undefined {
  return parsed.values.get(name)?.[0];
}

/** The patterns of `--deny` or `--allow`. */
export function readPatterns(parsed: Parsed, list: "deny" | "allow"): Pattern[] {
  return (parsed.values.get(list) ?? []).flatMap((text) => {
    const patterns = parsePatternList(text, list);
    if (patterns.length === 0) throw usage(`Option --${list} cannot be "${text}"`, `Write --${list} <re,re,…>`);
    return patterns;
  });
}

/** The variables of `--env`. If a name occurs twice, the last one counts. */
export function readEnvironment(parsed: Parsed): Map<string, string> {
  const variables = new Map<string, string>();
  for (const text of parsed.values.get("env") ?? []) {
    const equals = text.indexOf("=");
    if (equals <= 0) throw usage(`Not a variable: --env ${showWord(text)}`, "Write --env NAME=value");
    variables.set(text.slice(0, equals), text.slice(equals + 1));
  }
  return variables;
}

/** The command after `--`. */
export function readCommand(parsed: Parsed): string[] {
  const { rest } = parsed;
  if (rest === null || rest.length === 0 || rest[0] === "") throw noServer(parsed);
  return [...rest];
}

/** The error for a command line without a server. */
export function noServer({ rest, typed }: Parsed): ProxyError {
  const what = (rest ?? []).length === 0 ? "No server to start" : 'The server\'s command is empty: ""';
  const line = showLine([...typed, "--", ...EXAMPLE_SERVER]);
  return usage(what, `Write the server's command after two dashes: ${line}`);
}

/** A duration such as 500ms, 10s, 1m or 1h, in milliseconds. Undefined if the option is not given. */
export function readTime(parsed: Parsed, name: string): number | undefined {
  const text = value(parsed, name);
  if (text === undefined) return undefined;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  const exact = match === null ? 0 : Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
  const milliseconds = Math.round(exact);
  // Ignore rounding errors: 1.1s is a whole number of milliseconds.
  const isWhole = Math.abs(exact - milliseconds) < 1e-6 * Math.max(1, milliseconds);
  if (exact > 0 && exact <= MAX_TIMER_MS && !isWhole) {
    const remedy = `Write whole milliseconds, such as --${name} ${Math.ceil(exact)}ms`;
    throw usage(`Not a whole number of milliseconds: --${name} ${showWord(text)}`, remedy);
  }
  if (!(milliseconds > 0 && milliseconds <= MAX_TIMER_MS)) {
    const remedy = `Write a number and a unit (ms, s, m or h), such as --${name} 10s`;
    throw usage(`Not a positive duration: --${name} ${showWord(text)}`, remedy);
  }
  return milliseconds;
}

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** The longest delay of a timer: almost 25 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Opens the log for people. */
export function openLog({ level, format, file }: LogSettings): Log {
  return createLog({ level: level ?? "info", format: format ?? "text", file: findLogFile(file) });
}

/** The file that gets the log in addition to stderr; null if there is none. Throws if it cannot be written. */
export function findLogFile(file: string | null): string | null {
  if (file === null || file === "/dev/stderr") return null; // stderr gets the log anyway
  checkWritable(file);
  return file;
}

/** Checks at the start that a file can be written, instead of failing later. */
function checkWritable(file: string): void {
  let isFile: boolean;
  try {
    // Opening a pipe without a reader must not block. Windows does not have this flag.
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);
    const descriptor = openSync(file, flags, 0o600);
    // Writing to a pipe or a slow device would block with every line.
    isFile = fstatSync(descriptor).isFile() || isatty(descriptor) || file === devNull;
    closeSync(descriptor);
  } catch (cause) {
    const { code = "it cannot be opened" } = cause as NodeJS.ErrnoException;
    throw notWritable(file, `${code}: check the path and its permissions`, cause);
  }
  if (!isFile) throw notWritable(file, "It is not a regular file: to write the log somewhere else, redirect stderr");
}

function notWritable(file: string, remedy: string, cause?: unknown): ProxyError {
  return new ProxyError("FILE_NOT_WRITABLE", `Cannot write to ${file}`, remedy, { cause });
}
