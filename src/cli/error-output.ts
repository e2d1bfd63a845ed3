import type { LogSettings } from "../config/settings.ts";
import { createLog, type Fields, type Level } from "../record/log/log.ts";
import { findCommand } from "./commands.ts";
import { complain, createPaint, type Tone } from "./output.ts";
import { paintMistakes } from "./paint-lines.ts";
import { findLogFile } from "./settings.ts";

/**
 * Tells errors to people: two lines on stderr, what happened and what to do, or a JSON line where the log is JSON. A log
 * file gets them as well, each line with its time.
 */
export interface ErrorOutput {
  /** From now on the log is as these settings say. */
  readonly follow: (log: LogSettings) => void;
  error(what: Complaint): Promise<void>;
  warning(message: string): Promise<void>;
}

/** What went wrong, and what to do about it. Either may have several lines. */
export interface Complaint {
  readonly message: string;
  readonly remedy: string;
  readonly code?: string;
}

/** Makes the output. Until the command line has been read, it looks for the options of the log in it by itself. */
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

/** How errors are written, and to which file as well. */
interface Place {
  readonly format: "text" | "json";
  readonly file: string | null;
}

/** Finds options in a command line that may have mistakes, because one of those may be the error to tell. */
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
    return { format, file: null }; // that it cannot be written is told on stderr
  }
}
