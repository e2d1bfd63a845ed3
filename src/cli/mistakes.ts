import type { ProxyError } from "../errors.ts";
import { COMMANDS, findCommand } from "./commands.ts";
import { splitCommand } from "../config/split-command.ts";
import { nearest } from "../text/nearest.ts";
import type { Command, Parsed } from "./command-line.ts";
import { showLine, showWord, usage } from "./usage.ts";

/** The error for an unknown first word. Mostly it is a server's command, and the `--` before it is missing. */
export function unknownCommand(args: readonly string[]): ProxyError {
  const [name] = args;
  const hint = nearest(name, NAMES);
  const guess = hint === null ? "" : `Did you mean fairlead ${hint}? `;
  // Quotes around a whole command make it one word.
  const words = args.length === 1 ? splitCommand(name) : null;
  const isServer = !args.includes("--") && name !== "" && (hint === null || args.length > 1 || words !== null);
  const quotes = words === null ? "" : ", without the quotes";
  const server = isServer ? `To start a server, write${quotes}: ${showLine(["--", ...(words ?? args)])}` : "";
  return usage(`Unknown command: ${showWord(name)}`, `${guess}${server}`.trim() || ALL_NAMES);
}

/** The error for `help` with an unknown command. */
export function unknownTopic(name: string): ProxyError {
  const hint = nearest(name, NAMES);
  const guess = hint === null ? "" : `. Did you mean fairlead help ${hint}?`;
  return usage(`Unknown command: ${showWord(name)}`, `${ALL_NAMES}${guess}`);
}

/** The error for an option that the command does not have. */
export function unknownOption(word: string, command: Command): ProxyError {
  return usage(`Unknown option: ${showWord(word)}`, HABITS[word] ?? whereItBelongs(word) ?? guessOption(word, command));
}

/** The error for a word before `--`, or without it. */
export function strayWord(args: readonly string[], at: number, command: Command): ProxyError {
  const what = `Unexpected word: ${showWord(args[at])}`;
  const before = args.slice(0, at);
  const after = args.slice(at);
  if (command.name === "" && findCommand(args[at]) !== undefined) {
    return usage(what, `The command comes first: ${showLine([args[at], ...before, ...after.slice(1)])}`);
  }
  if (after.includes("--")) {
    return usage(what, "Only options stand before the two dashes; a value with spaces in it needs quotes");
  }
  const name = command.name === "" ? [] : [command.name];
  const words = after.length === 1 ? (splitCommand(after[0]) ?? after) : after;
  const line = showLine([...name, ...before, "--", ...words]);
  return usage(what, `Write the server's command after two dashes: ${line}`);
}

/** Throws if words or options do not fit together, or do not fit what the policy file sets (`all`). */
export function checkTogether(
  { words, rest, values }: Parsed,
  command: Command,
  all: { has(name: string): boolean } = values,
): void {
  const extra = command.takes === "nothing" ? (words[0] ?? rest?.[0] ?? null) : null;
  if (extra !== null) throw usage(`Unexpected word: ${showWord(extra)}`, `Write ${command.usage[0]}`);
  for (const { name, needs } of command.options) {
    if (needs === undefined || !values.has(name) || all.has(needs)) continue;
    const value =
      command.options.find((option) => option.name === needs)?.value?.replace("[host:]port", "<port>") ?? "";
    throw usage(
      `Option --${name} needs --${needs}`,
      `Give --${needs} ${value}`.trimEnd() + ` as well, or leave --${name} out`,
    );
  }
}

const NAMES = COMMANDS.filter(({ name, isHidden }) => name !== "" && isHidden !== true).map(({ name }) => name);
const ALL_NAMES = `The commands are: ${NAMES.join(", ")}`;

const VERBOSE = "To see more, write --log-level debug";
/** Options that people type because other programs have them. */
const HABITS: Record<string, string | undefined> = {
  "-v": `For the version, write --version or -V. ${VERBOSE}`,
  "-vv": VERBOSE,
  "--verbose": VERBOSE,
  "--debug": VERBOSE,
  "-q": "To see less, write --log-level error",
  "--quiet": "To see less, write --log-level error",
  "-?": "For help, write --help or -h",
  "-c": "For a policy file, write --config <file>",
};

function whereItBelongs(word: string): string | null {
  const owners = COMMANDS.filter(({ options }) => options.some(({ name }) => `--${name}` === word));
  if (owners.length === 0) return null;
  return `${word} belongs to ${owners.map(({ name }) => `fairlead ${name}`.trim()).join(" and ")}`;
}

function guessOption(word: string, { name, options }: Command): string {
  const hint = nearest(
    word,
    options.map((option) => `--${option.name}`),
  );
  return hint === null ? `See fairlead help ${name}`.trim() : `Did you mean ${hint}?`;
}
