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

/** Makes an expression of the source of a pattern. With `i` case does not count, whatever the source says. */
export function compilePattern(source: string, flags: "" | "i" = ""): RegExp {
  const bare = bareSource(source);
  return new RegExp(bare, bare === source ? flags : "i");
}

function bareSource(source: string): string {
  return source.startsWith(IGNORE_CASE) ? source.slice(IGNORE_CASE.length) : source;
}

/** How both dialects say that case does not count. JavaScript itself has no word for it inside of a pattern. */
const IGNORE_CASE = "(?i)";

/** What the patterns of rules know and these do not. What is silent would mean something else here, and hide nothing. */
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

/** What patterns make of names. */
export interface Matches {
  /** For each name the pattern that matched first. */
  readonly matches: readonly (Pattern | null)[];
  /** All patterns that matched something. */
  readonly matched: ReadonlySet<Pattern>;
  /** How many names they were run on, from the first. */
  readonly reached: number;
  /** The pattern that did not come to an end on a single name. */
  readonly hung: Pattern | null;
}

/** How long the patterns of one list, `deny` or `allow`, may take on the names of one page, in processor time. */
const MATCH_LIMIT_MS = 100;

/** A pattern that takes so long on one name hangs; where none does, there are many names, or long ones. */
const HANG_MS = 40;

/** How often we look whether one does. */
const MAX_LOOKS = 8;

/**
 * Runs every pattern on every name, and says for each name which pattern matched first.
 * The check above misses patterns that take for ever on the right name, and names come from
 * the server: so this runs under a limit.
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
    // On a busy machine most of the time may have gone to others.
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
