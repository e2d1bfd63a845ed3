/** One command of the command line. */
export interface Command {
  /** Its name; empty for the proxy itself. */
  readonly name: string;
  readonly usage: readonly string[];
  readonly summary: string;
  readonly options: readonly Option[];
  /** What it takes in addition to options: a server's command after `--`, words, or nothing. */
  readonly takes: "server" | "words" | "nothing";
  /** The lines of the help after the options. */
  readonly notes: readonly string[];
  /** Whether the help leaves it out. */
  readonly isHidden?: boolean;
}

/** One option of the command line. */
export interface Option {
  readonly name: string;
  /** The name of its value in the help; null if it takes no value. */
  readonly value: string | null;
  readonly help: string;
  readonly repeats?: boolean;
  /** The only values that it accepts. */
  readonly choices?: readonly string[];
  readonly fallback?: string;
  /** Whether all words after it are its values: none, one or several. */
  readonly takesWords?: boolean;
  /** Another option without which this one has no effect. */
  readonly needs?: string;
}

/** A parsed command line. */
export interface Parsed {
  /** The words before `--` that are neither options nor values. */
  readonly words: readonly string[];
  /** Everything after `--`; null if there is no `--`. */
  readonly rest: readonly string[] | null;
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Everything before `--` as it was typed, including the name of the command. */
  readonly typed: readonly string[];
}
