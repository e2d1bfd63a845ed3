import { MAX_PATH_CHARACTERS } from "../rules/path-readings.ts";
import { expandBraces } from "./braces.ts";
import { ANY, type Budget, DEEP, ONE, spendSteps, STAR } from "./names.ts";

/** A stretch of a text that may be a path or a URI. */
export interface Word {
  /** Wildcards in it are marks. */
  readonly text: string;
  /** Whether it is all that there is in the text. */
  readonly isWhole: boolean;
}

/**
 * Calls `visit` for each word of a text: as it is quoted or split by punctuation, and as a shell would read it. All of the
 * text, and all that stands in quotes, is a word, too; where names that are looked for have neither spaces nor
 * punctuation, only if it is not too long for a path.
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
  // Some cut control characters out, line breaks included: WHATWG URL, for one.
  const bare = text.replace(CONTROLS, "");
  if (bare !== text) {
    visitLong(bare.trim(), true);
    eachShellWord(bare, budget, visit);
  }
  if (!SHELL.test(text)) return;
  eachShellWord(text, budget, visit);
  // In the shells of Windows a backslash is a slash, and another character escapes.
  if (text.includes("\\")) eachShellWord(text.replaceAll("\\", "/"), budget, visit);
}

const PLAIN = /[^\s\p{Cc}"'`<>|&;(){}[\],]+/gu;
/** What splits words. A name with one of these in it is found only where nothing is split. */
export const SEPARATORS = /[\s\p{Cc}"'`<>|&;(){}[\],]/u;
const QUOTES = /["'`]/;
const SHELL = /["'`\\^$%*?[{(]/;
const CONTROLS = /\p{Cc}+/gu;

/** What it takes to write out a word with braces, for each character. */
const BRACE_STEPS = 4;

/** Characters that end a word, and what stands for each where it is escaped and does not. */
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

/** Without quotes and escapes; what variables and commands stand for is a mark. */
function readAsShell(text: string): string {
  return text
    .replace(HOME, "~")
    .replace(SUBSTITUTION, ANY)
    .replace(VARIABLE, ANY)
    .replace(VARIABLE, ANY) // one inside another
    .replace(EXTENDED_GLOB, STAR)
    .replace(/\\([ \t;|&<>()])/g, (_, character: string) => KEPT[ENDS.indexOf(character)])
    .replace(/\$(?=["'])|["'`^\\]/g, "");
}

// `$HOME`, `${HOME}`, `${HOME:-x}`, `$env:USERPROFILE`, `%USERPROFILE%`, `%HOMEDRIVE%%HOMEPATH%`.
const HOME =
  /%homedrive%%homepath%|%(?:home|userprofile|homepath)%|\$(?:\{(?:env:)?(?:home|userprofile)(?:[:\-+=?][^{}\s]*)?\}|(?:env:)?(?:home|userprofile)\b)/g;
// What a command prints: nobody knows. What stands inside is read on its own, too.
const SUBSTITUTION = /\$\([^()]*\)|`[^`\n]*`/g;
const VARIABLE = /\$\{[^{}\s]*\}|\$(?:env:)?[a-z_]\w*|\$[\d@*#?!$-]|%(?![0-9a-f]{2})[a-z_]\w+%|!\w+!/g;
const EXTENDED_GLOB = /[?*+@!]\([^()\s]*\)/g;

function markWildcards(word: string): string {
  if (!/[*?\uE000-\uE003]/.test(word)) return word;
  const marked = word.replaceAll("**", DEEP).replaceAll("*", STAR).replaceAll("?", ONE);
  return marked.replace(/[\uE001-\uE003]{2,}/g, (run) => (run.includes(ANY) ? ANY : run.includes(DEEP) ? DEEP : STAR));
}
