import { showText } from "../message/text.ts";
import { strayWord, unknownOption } from "./mistakes.ts";
import { nearest } from "../text/nearest.ts";
import type { Command, Option, Parsed } from "./command-line.ts";
import { usage } from "./usage.ts";

/** Parses a command line without the command's name, by the options of that command. */
export function parseCommandLine(args: readonly string[], command: Command): Parsed {
  const byName = new Map(command.options.map((option) => [option.name, option]));
  const words: string[] = [];
  const values = new Map<string, string[]>();
  let open: string[] | null = null; // the values of an option that takes the words after it
  const prefix = command.name === "" ? [] : [command.name];
  for (let at = 0; at < args.length; at++) {
    const word = args[at];
    if (word === "--") return { words, values, rest: args.slice(at + 1), typed: [...prefix, ...args.slice(0, at)] };
    if (word === "-h") values.set("help", ["true"]);
    else if (word === "-V") values.set("version", ["true"]);
    else if (!word.startsWith("-") || word === "-") {
      if (open !== null) open.push(word);
      else if (command.takes === "server") throw strayWord(args, at, command);
      else words.push(word);
    } else {
      const equals = word.indexOf("=");
      const name = word.slice(2, equals < 0 ? undefined : equals);
      const option = word.startsWith("--") ? byName.get(name) : undefined;
      if (option === undefined) throw unknownOption(equals < 0 ? word : word.slice(0, equals), command);
      open = option.takesWords === true ? [...(values.get(name) ?? [])] : null;
      if (open !== null) {
        if (equals >= 0) open.push(word.slice(equals + 1));
        values.set(name, open);
        continue;
      }
      const value = readValue(option, equals < 0 ? null : word.slice(equals + 1), args[at + 1]);
      if (option.value !== null && equals < 0) at++;
      const before = values.get(name);
      if (before === undefined) values.set(name, [value]);
      else if (option.repeats === true) before.push(value);
      else throw usage(`Option --${name} is given twice`, "Give it once");
    }
  }
  return { words, values, rest: null, typed: [...prefix, ...args] };
}

/** The value of an option: the text after its equals sign, or else the next word. */
function readValue(option: Option, attached: string | null, next: string | undefined): string {
  const { name, choices } = option;
  if (option.value === null) {
    if (attached !== null) throw usage(`Option --${name} takes no value`, `Write --${name}`);
    return "true";
  }
  const value = attached ?? next;
  const form = `--${name} ${option.value}`;
  if (value === undefined || (attached === null && isOption(value))) {
    const isValue = value === undefined || value === "--" ? "" : `, or --${name}=${value} if that is the value`;
    throw usage(`Option --${name} needs a value`, `Write ${form}${isValue}`);
  }
  if (choices !== undefined && !choices.includes(value)) {
    const hint = nearest(value, choices);
    const remedy = `It is one of: ${choices.join(", ")}${hint === null ? "" : `. Did you mean ${hint}?`}`;
    throw usage(`Option --${name} cannot be "${showText(value)}"`, remedy);
  }
  // Mostly a variable that is not set. As a pattern it would hide nothing, without anybody noticing.
  if (value.trim() === "") throw usage(`Option --${name} cannot be "${showText(value)}"`, `Write ${form}`);
  return value;
}

/** Whether a word is an option. Two dashes begin an option; a single dash may begin a pattern. */
function isOption(word: string): boolean {
  return word.startsWith("--") || word === "-h" || word === "-V";
}
