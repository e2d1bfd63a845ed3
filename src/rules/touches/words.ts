import { MAX_PATH_CHARACTERS } from "../../text/path-readings.ts";
import { expandBraces } from "./braces.ts";
import { ANY, type Budget, DEEP, ONE, spendSteps, STAR } from "./names.ts";

/** A part of a text that may be a path or a URI. */
export interface Word {
  /** The text, with marks as wildcards. */
  readonly text: string;
  /** Whether it is the whole text. */
  readonly isWhole: boolean;
}

/**
 * Calls `visit` for each word of a text, split by quotes and punctuation, and as a shell would split it. The whole text
 * and each quoted part are words too. If no name in the patterns contains spaces or punctuation (`isOdd` is false),
 * these long words are skipped when they are too long for a path.
 */
export function eachWord(text: string, isOdd: boolean, budget: Budget, visit: (word: Word) => void): void {
  const whole = text.trim();
  spendSteps(budget, text.length);
  for (const [word] of text.matchAll(PLAIN)) visit({ text: markWildcards(word), isWhole: word === whole });
  const visitLong = (piece: string, isWhole: boolean): void => {
    if ((isOdd || piece.length <= MAX_PATH_CHARACTERS) && SEPARATORS.test(piece))
      visit({ text: markWildcards(piece), isWhole });
  };
  visitLong(whole, true);
  if (QUOTES.test(text)) for (const piece of text.split(QUOTES)) visitLong(piece.trim(), false);
  // Some readers remove control characters, including line breaks: WHATWG URL, for example.
  const bare = text.replace(CONTROLS, "");
  if (bare !== text) {
    visitLong(bare.trim(), true);
    eachShellWord(bare, budget, visit);
  }
  if (!SHELL.test(text)) return;
  eachShellWord(text, budget, visit);
  // In Windows shells a backslash is a path separator, and another character is used for escaping.
  if (text.includes("\\")) eachShellWord(text.replaceAll("\\", "/"), budget, visit);
}

const PLAIN = /[^\s\p{Cc}"'`<>|&;(){}[\],]+/gu;
/** Characters that separate words. A name with one of them can only be found in an unsplit text. */
export const SEPARATORS = /[\s\p{Cc}"'`<>|&;(){}[\],]/u;
const QUOTES = /["'`]/;
const SHELL = /["'`\\^$%*?[{(]/;
const CONTROLS = /\p{Cc}+/gu;

/** The cost of expanding a word with braces, for each character. */
const BRACE_STEPS = 4;

/** Characters that end a word, and the placeholder for each when it is escaped and does not end the word. */
const ENDS = " \t;|&<>()";
const KEPT = "\uE020\uE021\uE022\uE023\uE024\uE025\uE026\uE027\uE028";

function eachShellWord(text: string, budget: Budget, visit: (word: Word) => void): void {
  spendSteps(budget, text.length);
  const read = readAsShell(text);
  const whole = read.trim();
  for (const [word] of read.matchAll(/[^\s\p{Cc};|&<>()]+/gu)) {
    const isWhole = word === whole;
    const kept = word.replaceAll(/[\uE020-\uE028]/g, (character) => ENDS[KEPT.indexOf(character)]);
    const written = expandBraces(kept) ?? [kept.replaceAll(/\{[^{}]*\}/g, ANY)];
    for (const one of written) {
      spendSteps(budget, written.length > 1 ? BRACE_STEPS * one.length : one.length);
      visit({ text: markWildcards(one.replaceAll(/\[[^\]/]+\]/g, ONE)), isWhole });
    }
  }
}

/** Removes quotes and escapes, and replaces variables and command substitutions by marks. */
function readAsShell(text: string): string {
  return text
    .replace(HOME, "~")
    .replace(SUBSTITUTION, ANY)
    .replace(VARIABLE, ANY)
    .replace(VARIABLE, ANY) // nested variables
    .replace(EXTENDED_GLOB, STAR)
    .replace(/\\([ \t;|&<>()])/g, (_, character: string) => KEPT[ENDS.indexOf(character)])
    .replace(/\$(?=["'])|["'`^\\]/g, "");
}

// `$HOME`, `${HOME}`, `${HOME:-x}`, `$env:USERPROFILE`, `%USERPROFILE%`, `%HOMEDRIVE%%HOMEPATH%`.
const HOME =
  /%homedrive%%homepath%|%(?:home|userprofile|homepath)%|\$(?:\{(?:env:)?(?:home|userprofile)(?:[:\-+=?][^{}\s]*)?\}|(?:env:)?(?:home|userprofile)\b)/g;
// The output of a command is unknown. The text of the command is read separately as well.
const SUBSTITUTION = /\$\([^()]*\)|`[^`\n]*`/g;
const VARIABLE = /\$\{[^{}\s]*\}|\$(?:env:)?[a-z_]\w*|\$[\d@*#?!$-]|%(?![0-9a-f]{2})[a-z_]\w+%|!\w+!/g;
const EXTENDED_GLOB = /[?*+@!]\([^()\s]*\)/g;

function markWildcards(word: string): string {
  if (!/[*?\uE000-\uE003]/.test(word)) return word;
  const marked = word.replaceAll("**", DEEP).replaceAll("*", STAR).replaceAll("?", ONE);
  return marked.replace(/[\uE001-\uE003]{2,}/g, (run) => (run.includes(ANY) ? ANY : run.includes(DEEP) ? DEEP : STAR));
}
