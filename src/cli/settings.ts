import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { isatty } from "node:tty";
import type { LogSettings } from "../config/settings.ts";
import { ProxyError } from "../errors.ts";
import { parsePatternList, type Pattern } from "../policy/patterns.ts";
import { createLog, type Log } from "../record/log/log.ts";
import type { Parsed } from "./command-line.ts";
import { EXAMPLE_SERVER, showLine, showWord, usage } from "./usage.ts";

/** The value of an option that is given at most once. */
export function value(parsed: Parsed, name: string): string | undefined {
  return parsed.values.get(name)?.[0];
}

/** The patterns of --deny or --allow. */
export function readPatterns(parsed: Parsed, list: "deny" | "allow"): Pattern[] {
  return (parsed.values.get(list) ?? []).flatMap((text) => {
    const patterns = parsePatternList(text, list);
    if (patterns.length === 0) throw usage(`Option --${list} cannot be "${text}"`, `Write --${list} <re,re,…>`);
    return patterns;
  });
}

/** The variables of --env. The last one of a name holds. */
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

/** Says that nobody has named a server. */
export function noServer({ rest, typed }: Parsed): ProxyError {
  const what = (rest ?? []).length === 0 ? "No server to start" : 'The server\'s command is empty: ""';
  const line = showLine([...typed, "--", ...EXAMPLE_SERVER]);
  return usage(what, `Write the server's command after two dashes: ${line}`);
}

/** A time such as 500ms, 10s, 1m or 1h, in milliseconds. Undefined where the option is not given. */
export function readTime(parsed: Parsed, name: string): number | undefined {
  const text = value(parsed, name);
  if (text === undefined) return undefined;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
  const exact = match === null ? 0 : Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
  const milliseconds = Math.round(exact);
  // What does not come out even only because of how numbers are kept (1.1s) is a whole number all the same.
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

/** Timers count no further: almost 25 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The log for people. */
export function openLog({ level, format, file }: LogSettings): Log {
  return createLog({ level: level ?? "info", format: format ?? "text", file: findLogFile(file) });
}

/** The file that the log is to be written to as well; null where there is none. Throws where it cannot be written. */
export function findLogFile(file: string | null): string | null {
  if (file === null || file === "/dev/stderr") return null; // stderr has the log in any case
  checkWritable(file);
  return file;
}

/** Makes sure at the start that a file can be written, rather than finding out later. */
function checkWritable(file: string): void {
  let isFile: boolean;
  try {
    // A pipe that nobody reads must not hold us up. Windows has no such flag.
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NONBLOCK ?? 0);
    const descriptor = openSync(file, flags, 0o600);
    // To a pipe, or a device that is slow, we would wait with every line.
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
