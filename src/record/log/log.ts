import { appendFileSync } from "node:fs";
import { showText } from "../../message/text.ts";
import { safeJson } from "./safe-json.ts";

/** How severe a log line is. */
export type Level = "error" | "warn" | "info" | "debug";

/** The levels, most severe first. */
export const LEVELS: readonly Level[] = ["error", "warn", "info", "debug"];

/** The log for people. It goes to stderr, because stdout carries the protocol. */
export interface Log {
  error(text: string, fields?: Fields): void;
  warn(text: string, fields?: Fields): void;
  info(text: string, fields?: Fields): void;
  debug(text: string, fields?: Fields): void;
}

/** The named values of a log line, in addition to its text. */
export type Fields = Readonly<Record<string, string | number | boolean | null>>;

/** The options of `createLog`. */
export interface LogOptions {
  /** The least severe level that is logged. The default is `info`. */
  readonly level?: Level;
  /** The default is `text`. */
  readonly format?: "text" | "json";
  /** The path of a file that also gets every line. If it cannot be written, there is no error. */
  readonly file?: string | null;
  /** Writes a line. The default writes to stderr. */
  readonly write?: (line: string) => void;
  readonly now?: () => Date;
}

/** A log that writes nothing. */
export const SILENT_LOG: Log = { error() {}, warn() {}, info() {}, debug() {} };

/** Creates a log. */
export function createLog(options: LogOptions = {}): Log {
  const { level = "info", format = "text", file = null, write = writeToStderr, now = () => new Date() } = options;
  const least = LEVELS.indexOf(level);

  function add(lineLevel: Level, text: string, fields: Fields = {}): void {
    if (LEVELS.indexOf(lineLevel) > least) return;
    const time = now().toISOString();
    const line =
      format === "json"
        ? safeJson({ time, level: lineLevel, message: text, ...fields })
        : `${time} ${lineLevel.padEnd(5)} ${showText(text, MAX_LINE_CHARACTERS)}${showFields(fields)}`;
    write(`${line}\n`);
    if (file === null) return;
    try {
      appendFileSync(file, `${line}\n`, { mode: 0o600 });
    } catch {
      // The file was writable at the start, and stderr has the line.
    }
  }

  return {
    error: (text, fields) => add("error", text, fields),
    warn: (text, fields) => add("warn", text, fields),
    info: (text, fields) => add("info", text, fields),
    debug: (text, fields) => add("debug", text, fields),
  };
}

// If stderr is not read, lines are dropped instead of buffered without limit.
function writeToStderr(line: string): void {
  // A closed stderr must not end the proxy.
  if (process.stderr.listenerCount("error") === 0) process.stderr.on("error", () => {});
  if (process.stderr.writableLength < MAX_QUEUED_BYTES) process.stderr.write(line);
}

const MAX_QUEUED_BYTES = 1024 * 1024;

function showFields(fields: Fields): string {
  return Object.entries(fields)
    .map(
      ([name, value]) =>
        ` ${name}=${safeJson(typeof value === "string" ? value.slice(0, MAX_LINE_CHARACTERS) : value)}`,
    )
    .join("");
}

const MAX_LINE_CHARACTERS = 2000;
