/** One of the things the command can do. */
export interface Command {
  /** How it is called; empty for the proxy itself. */
  readonly name: string;
  readonly usage: readonly string[];
  readonly summary: string;
  readonly options: readonly Option[];
  /** What may stand beside the options: a server's command after `--`, words of its own, or nothing. */
  readonly takes: "server" | "words" | "nothing";
  /** What the help says after the options. */
  readonly notes: readonly string[];
  /** Left out of the help. */
  readonly isHidden?: boolean;
}

/** One option of the command line. */
export interface Option {
  readonly name: string;
  /** What its value is called in the help; null where it takes none. */
  readonly value: string | null;
  readonly help: string;
  readonly repeats?: boolean;
  /** The only values it takes. */
  readonly choices?: readonly string[];
  readonly fallback?: string;
  /** Whether the words behind it are its values: none, one or several. */
  readonly takesWords?: boolean;
  /** The option without which it means nothing. */
  readonly needs?: string;
}

/** A command line, taken apart. */
export interface Parsed {
  /** The words that are neither options nor values, before `--`. */
  readonly words: readonly string[];
  /** Everything after `--`; null where there is none. */
  readonly rest: readonly string[] | null;
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Everything before `--`, as it was typed, with the command's name. */
  readonly typed: readonly string[];
}
