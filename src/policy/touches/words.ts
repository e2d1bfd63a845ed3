import { expandBraces } from "./braces.ts";
import { ANY, type Budget, DEEP, ONE, spendSteps, STAR } from "./names.ts";

/** A stretch of a text that may be a path or a URI. */
export interface Word {
  /** Wildcards in it are marks. */
  readonly text: string;
  /** Whether it is all that there is in the text. */
  readonly isWhole: boolean;
}

/** Calls `visit` for each word of a text: as it is quoted or split by punctuation, and as a shell would read it. */
export function eachWord(text: string, budget: Budget, visit: (word: Word) => void): void {
  const whole = text.trim();
  spendSteps(budget, text.length);
  for (const [word] of text.matchAll(PLAIN)) visit({ text: markWildcards(word), isWhole: word === whole });
  if (/\s/.test(whole)) {
    if (whole.length <= MAX_SPACED) visit({ text: markWildcards(whole), isWhole: true });
    for (const piece of /["'`]/.test(text) ? text.split(/["'`]/) : [])
      if (piece.length <= MAX_SPACED && /\S\s+\S/.test(piece))
        visit({ text: markWildcards(piece.trim()), isWhole: false });
  }
  // Some cut control characters out, line breaks included: WHATWG URL, for one.
  const bare = text.replace(CONTROLS, "");
  if (bare !== text) eachShellWord(bare, budget, visit);
  if (!SHELL.test(text)) return;
  eachShellWord(text, budget, visit);
  // In the shells of Windows a backslash is a slash, and another character escapes.
  if (text.includes("\\")) eachShellWord(text.replaceAll("\\", "/"), budget, visit);
}

/** Longer texts with spaces in them are not taken for one path. */
const MAX_SPACED = 4096;

const PLAIN = /[^\s\p{Cc}"'`<>|&;(){}[\],]+/gu;
const SHELL = /["'`\\^$%*?[{(]/;
const CONTROLS = /\p{Cc}+/gu;

/** A space that belongs to a word. */
const KEPT_SPACE = "\uE004";

function eachShellWord(text: string, budget: Budget, visit: (word: Word) => void): void {
  spendSteps(budget, text.length);
  const read = readAsShell(text);
  const whole = read.trim();
  for (const [word] of read.matchAll(/[^\s\p{Cc};|&<>()]+/gu)) {
    const isWhole = word === whole;
    const spaced = word.replaceAll(KEPT_SPACE, " ");
    const written = expandBraces(spaced) ?? [spaced.replaceAll(/\{[^{}]*\}/g, ANY)];
    for (const one of written) {
      spendSteps(budget, one.length);
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
    .replace(EXTENDED_GLOB, STAR)
    .replace(/\\[ \t]/g, KEPT_SPACE)
    .replace(/\$(?=["'])|["'`^\\]/g, "");
}

// `$HOME`, `${HOME}`, `${HOME:-x}`, `$env:USERPROFILE`, `%USERPROFILE%`, `%HOMEDRIVE%%HOMEPATH%`.
const HOME =
  /%homedrive%%homepath%|%(?:home|userprofile|homepath)%|\$(?:\{(?:env:)?(?:home|userprofile)(?:[:\-+=?][^}\s]*)?\}|(?:env:)?(?:home|userprofile)\b)/g;
// What a command prints: nobody knows. What stands inside is read on its own, too.
const SUBSTITUTION = /\$\([^()]{0,400}\)|`[^`\n]{0,400}`/g;
const VARIABLE = /\$\{[^}\s]{0,200}\}|\$(?:env:)?[a-z_]\w*|\$[\d@*#?!$-]|%(?![0-9a-f]{2})[a-z_]\w+%|!\w+!/g;
const EXTENDED_GLOB = /[?*+@!]\([^()\s]{0,200}\)/g;

function markWildcards(word: string): string {
  if (!/[*?\uE000-\uE003]/.test(word)) return word;
  const marked = word.replaceAll("**", DEEP).replaceAll("*", STAR).replaceAll("?", ONE);
  return marked.replace(/[\uE001-\uE003]{2,}/g, (run) => (run.includes(ANY) ? ANY : run.includes(DEEP) ? DEEP : STAR));
}
