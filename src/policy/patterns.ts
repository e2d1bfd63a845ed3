import safeRegex from "safe-regex2";
import { ProxyError } from "../errors.ts";
import { runLimited } from "./time-limit.ts";

/** A regular expression of a filter that passed all checks. */
export interface Pattern {
  readonly source: string;
  readonly expression: RegExp;
}

/** Splits a list of patterns at its commas and checks each of them. `list` is named in error messages. */
export function parsePatternList(text: string, list: "deny" | "allow"): Pattern[] {
  const pieces = text.split(",").map((piece) => piece.trim());
  for (const piece of pieces) {
    if (pieces.length === 1 || isBalanced(piece)) continue;
    throw new ProxyError(
      "BAD_PATTERN",
      `Invalid regex pattern in ${list} list: "${piece}"`,
      "Pattern was cut at a comma: commas separate patterns, so a pattern cannot contain one",
    );
  }
  return pieces.filter((piece) => piece !== "").map((piece) => parsePattern(piece, list));
}

/** Checks one pattern. It may begin with `(?i)` to ignore case, as the patterns of rules may. */
export function parsePattern(source: string, list: "deny" | "allow"): Pattern {
  const foreign = FOREIGN.find(({ looks }) => looks.test(source));
  let expression: RegExp;
  try {
    if (foreign?.isSilent === true) throw new SyntaxError("not JavaScript");
    expression = compilePattern(source);
  } catch (cause) {
    const remedy = "Pattern must be valid JavaScript regex";
    throw new ProxyError(
      "BAD_PATTERN",
      `Invalid regex pattern in ${list} list: "${source}"`,
      foreign === undefined
        ? remedy
        : `${remedy}: ${foreign.what} is RE2 syntax, which works only in rules; ${foreign.instead}`,
      { cause },
    );
  }
  if (!safeRegex(bareSource(source))) {
    throw new ProxyError(
      "UNSAFE_PATTERN",
      `Unsafe regex pattern detected: "${source}"`,
      "Pattern could cause catastrophic backtracking",
    );
  }
  return { source, expression };
}

/** Compiles the source of a pattern. With `i` it ignores case, even if the source does not ask for that. */
export function compilePattern(source: string, flags: "" | "i" = ""): RegExp {
  const bare = bareSource(source);
  return new RegExp(bare, bare === source ? flags : "i");
}

function bareSource(source: string): string {
  return source.startsWith(IGNORE_CASE) ? source.slice(IGNORE_CASE.length) : source;
}

/** Makes a pattern ignore case, here and in the patterns of rules. JavaScript itself does not support `(?i)`. */
const IGNORE_CASE = "(?i)";

/**
 * Syntax that the patterns of rules support and these do not. `isSilent`: it is valid in JavaScript with another
 * meaning, so the pattern would silently hide nothing.
 */
const FOREIGN: readonly { looks: RegExp; what: string; instead: string; isSilent?: true }[] = [
  {
    looks: /\(\?[imsU-]+[:)]/,
    what: "a flag such as (?s)",
    instead: "here only (?i) at the very beginning works",
  },
  { looks: /\(\?P[<>=]/, what: "(?P<name>…)", instead: "write (?<name>…)" },
  { looks: /(?<!\\)(?:\\\\)*\\A/, what: "\\A", instead: "write ^", isSilent: true },
  { looks: /(?<!\\)(?:\\\\)*\\[zZ]/, what: "\\z", instead: "write $", isSilent: true },
  {
    looks: /(?<!\\)(?:\\\\)*\\Q/,
    what: "\\Q…\\E",
    instead: "put a backslash before each special character",
    isSilent: true,
  },
  { looks: /\[\[:\^?\w+:\]/, what: "a class such as [[:alpha:]]", instead: "write [A-Za-z]", isSilent: true },
];

/** The result of running patterns on names. */
export interface Matches {
  /** For each name the first pattern that matched, or null. */
  readonly matches: readonly (Pattern | null)[];
  /** All patterns that matched some name. */
  readonly matched: ReadonlySet<Pattern>;
  /** How many names were checked, from the first one on. */
  readonly reached: number;
  /** The pattern that did not finish on a single name, or null. */
  readonly hung: Pattern | null;
}

/** Time limit for all patterns of one list, `deny` or `allow`, on the names of one page, in processor time. */
const MATCH_LIMIT_MS = 100;

/** A pattern that takes this long on one name hangs. If none does, there are just many names, or long ones. */
const HANG_MS = 40;

/** How often the matching is interrupted to check whether a pattern hangs. */
const MAX_LOOKS = 8;

/**
 * Runs every pattern on every name, and finds for each name the first pattern that matches. Security: safe-regex misses
 * some patterns that backtrack forever on certain names, and the server chooses the names, so this has a time limit.
 */
export function matchNames(patterns: readonly Pattern[], names: readonly string[]): Matches {
  const matches: (Pattern | null)[] = names.map(() => null);
  const matched = new Set<Pattern>();
  let index = 0;
  let nth = 0;
  const work = (): void => {
    for (; index < names.length; index++, nth = 0) {
      for (; nth < patterns.length; nth++) {
        if (!patterns[nth].expression.test(names[index])) continue;
        matched.add(patterns[nth]);
        matches[index] ??= patterns[nth];
      }
    }
  };
  let spent = 0;
  let patience = HANG_MS;
  for (let look = 0; look < MAX_LOOKS && spent < MATCH_LIMIT_MS; look++) {
    const [pattern, name] = [nth, index];
    const before = process.cpuUsage();
    if (runLimited(work, patience)) break;
    const { user, system } = process.cpuUsage(before);
    const taken = (user + system) / 1000;
    spent += taken;
    const isStuck = pattern === nth && name === index;
    if (isStuck && taken >= HANG_MS / 2) return { matches, matched, reached: index, hung: patterns[nth] };
    // On a busy machine other processes may have used most of the time, so the next run may take longer.
    patience = isStuck ? Math.min(2 * patience, 8 * HANG_MS) : HANG_MS;
  }
  return { matches, matched, reached: index, hung: null };
}

/** Whether all brackets of a pattern are closed. */
function isBalanced(source: string): boolean {
  let round = 0;
  let curly = 0;
  let square = false;
  for (let at = 0; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at++;
    else if (square) square = character !== "]";
    else if (character === "[") square = true;
    else if (character === "(") round++;
    else if (character === ")") round--;
    else if (character === "{") curly++;
    else if (character === "}") curly--;
    if (round < 0 || curly < 0) return false;
  }
  return round === 0 && curly === 0 && !square;
}
