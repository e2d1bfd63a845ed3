import { ProxyError } from "../errors.ts";
import { nearest } from "./nearest.ts";

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
}

/** A command line, taken apart. */
export interface Parsed {
  /** The words that are neither options nor values, before `--`. */
  readonly words: readonly string[];
  /** Everything after `--`; null where there is none. */
  readonly rest: readonly string[] | null;
  readonly values: ReadonlyMap<string, readonly string[]>;
}

/** Takes a command line apart by the options it may have. */
export function parseCommandLine(args: readonly string[], options: readonly Option[]): Parsed {
  const byName = new Map(options.map((option) => [option.name, option]));
  const words: string[] = [];
  const values = new Map<string, string[]>();
  for (let at = 0; at < args.length; at++) {
    const word = args[at];
    if (word === "--") return { words, values, rest: args.slice(at + 1) };
    if (word === "-h") values.set("help", ["true"]);
    else if (word === "-V") values.set("version", ["true"]);
    else if (!word.startsWith("-") || word === "-") words.push(word);
    else {
      const equals = word.indexOf("=");
      const name = word.slice(2, equals < 0 ? undefined : equals);
      const option = word.startsWith("--") ? byName.get(name) : undefined;
      if (option === undefined) throw unknownOption(equals < 0 ? word : word.slice(0, equals), options);
      let value = "true";
      if (option.value !== null) {
        const given = equals < 0 ? args[++at] : word.slice(equals + 1);
        if (given === undefined || (equals < 0 && given === "--")) {
          throw usage(`Option --${name} needs a value`, `Write --${name} ${option.value}`);
        }
        value = given;
      } else if (equals >= 0) throw usage(`Option --${name} takes no value`, `Write --${name}`);
      if (option.choices !== undefined && !option.choices.includes(value)) {
        const hint = nearest(value, option.choices);
        const remedy = `It is one of: ${option.choices.join(", ")}${hint === null ? "" : `. Did you mean ${hint}?`}`;
        throw usage(`Option --${name} cannot be "${value}"`, remedy);
      }
      const before = values.get(name);
      if (before === undefined) values.set(name, [value]);
      else if (option.repeats === true) before.push(value);
      else throw usage(`Option --${name} is given twice`, "Give it once");
    }
  }
  return { words, values, rest: null };
}

/** A mistake in the command line, and what to write instead. */
export function usage(message: string, remedy: string): ProxyError {
  return new ProxyError("BAD_USAGE", message, remedy);
}

function unknownOption(word: string, options: readonly Option[]): ProxyError {
  const hint = nearest(
    word,
    options.map((option) => `--${option.name}`),
  );
  return usage(`Unknown option: ${word}`, hint === null ? "See fairlead help" : `Did you mean ${hint}?`);
}
