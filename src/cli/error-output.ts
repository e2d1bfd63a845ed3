import type { LogSettings } from "../config/settings.ts";
import { createLog, type Fields, type Level } from "../record/log/log.ts";
import { findCommand } from "./commands.ts";
import { complain, createPaint, type Tone } from "./output.ts";
import { paintMistakes } from "./paint-lines.ts";
import { findLogFile } from "./settings.ts";

/**
 * Prints errors for people: two lines on stderr, with the problem and the remedy, or one JSON line if the log format is
 * JSON. The log file gets them as well, each line with a timestamp.
 */
export interface ErrorOutput {
  /** Uses these log settings from now on. */
  readonly follow: (log: LogSettings) => void;
  error(what: Complaint): Promise<void>;
  warning(message: string): Promise<void>;
}

/** A problem and its remedy. Either may have several lines. */
export interface Complaint {
  readonly message: string;
  readonly remedy: string;
  readonly code?: string;
}

/** Creates the output. Until `follow` is called, it searches the raw command line for the log options. */
export function createErrorOutput(args: readonly string[]): ErrorOutput {
  let place = scan(args);

  async function tell(level: Level, message: string, remedy: string, fields: Fields): Promise<void> {
    const { format, file } = findPlace(place());
    if (format === "json") {
      let line = "";
      const log = createLog({ format, file, write: (text) => (line = text) });
      log[level](message, { ...(remedy === "" ? {} : { remedy }), ...fields });
      return complain(line);
    }
    const log = createLog({ file, write: () => {} });
    const [first, ...others] = `${message}\n${remedy}`.split("\n").filter((line) => line.trim() !== "");
    log[level](first, fields);
    for (const line of others) log[level](line);
    const [word, tone] = WORDS[level];
    const paint = createPaint(process.stderr, process.env);
    // The mistakes of a policy file follow the first line.
    const said = fields["code"] === "BAD_POLICY" ? paintMistakes(message, paint) : message;
    await complain(`${paint(tone, `${word}:`)} ${said}\n${remedy === "" ? "" : `${remedy}\n`}`);
  }

  return {
    follow({ format, file }) {
      place = () => ({ format: format ?? "text", file });
    },
    error: ({ message, remedy, code }) => tell("error", message, remedy, code === undefined ? {} : { code }),
    warning: (message) => tell("warn", message, "", {}),
  };
}

const WORDS: Record<Level, readonly [string, Tone]> = {
  error: ["Error", "red"],
  warn: ["Warning", "yellow"],
  info: ["Note", "dim"],
  debug: ["Note", "dim"],
};

/** The format of errors, and the log file that gets them as well. */
interface Place {
  readonly format: "text" | "json";
  readonly file: string | null;
}

/**
 * Searches the log options in a command line that may be invalid, because the error to print may be about the command
 * line.
 */
function scan(args: readonly string[]): () => Place {
  const first = args.at(0) ?? "";
  const name = first.startsWith("-") ? "" : first;
  const known = findCommand(name)?.options.some((option) => option.name === "log-format") === true;
  if (!known) return () => ({ format: "text", file: null });
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  const find = (option: string): string | undefined => {
    const at = own.findIndex((word) => word === `--${option}` || word.startsWith(`--${option}=`));
    if (at < 0) return undefined;
    const equals = own[at].indexOf("=");
    return equals < 0 ? own[at + 1] : own[at].slice(equals + 1);
  };
  return () => ({ format: find("log-format") === "json" ? "json" : "text", file: find("log-file") ?? null });
}

function findPlace({ format, file }: Place): Place {
  try {
    return { format, file: findLogFile(file) };
  } catch {
    return { format, file: null }; // stderr reports that the file cannot be written
  }
}
