import { ProxyError } from "../errors.ts";
import { showText } from "../message/text.ts";

/** An error in the command line, with what to write instead. */
export function usage(message: string, remedy: string): ProxyError {
  return new ProxyError("BAD_USAGE", message, remedy);
}

/** A word of the command line for use in a sentence, in quotes if needed. */
export function showWord(word: string): string {
  return PLAIN.test(word) ? word : `"${showText(word)}"`;
}

/** A `fairlead` command line as typed into a shell. */
export function showLine(words: readonly string[]): string {
  return showText(["fairlead", ...hideValues(words).map(quote)].join(" "), MAX_LINE_CHARACTERS);
}

/** The server in examples. The command works as it is written. */
export const EXAMPLE_SERVER = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."] as const;

/** A pattern that hides the tools with which that server changes files. */
export const EXAMPLE_DENY = "^(write|edit|move|create)_";

const PLAIN = /^[\w@%+=:,./-]+$/;
const MAX_LINE_CHARACTERS = 1000;

function quote(word: string): string {
  return PLAIN.test(word.replace(/…$/, "")) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Hides the values of `--env`: they are often secrets, and stderr is often kept in logs. */
function hideValues(words: readonly string[]): string[] {
  const end = words.indexOf("--");
  return words.map((word, index) => {
    if (end >= 0 && index > end) return word;
    if (word.startsWith("--env=")) return hideValue(word, "--env=".length);
    return words[index - 1] === "--env" ? hideValue(word, 0) : word;
  });
}

function hideValue(word: string, from: number): string {
  const equals = word.indexOf("=", from);
  return equals < 0 ? word : `${word.slice(0, equals + 1)}…`;
}
