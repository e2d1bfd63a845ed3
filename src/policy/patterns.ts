import { runInThisContext } from "node:vm";
import safeRegex from "safe-regex2";
import { ProxyError } from "../errors.ts";

/** One regular expression of a tool filter, checked. */
export interface Pattern {
  readonly source: string;
  readonly expression: RegExp;
}

/** The patterns of a comma-separated list, trimmed and checked. `list` is "deny" or "allow", for the message. */
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

/** Checks one pattern. */
export function parsePattern(source: string, list: "deny" | "allow"): Pattern {
  let expression: RegExp;
  try {
    expression = new RegExp(source);
  } catch (cause) {
    throw new ProxyError(
      "BAD_PATTERN",
      `Invalid regex pattern in ${list} list: "${source}"`,
      "Pattern must be valid JavaScript regex",
      { cause },
    );
  }
  if (!safeRegex(source)) {
    throw new ProxyError(
      "UNSAFE_PATTERN",
      `Unsafe regex pattern detected: "${source}"`,
      "Pattern could cause catastrophic backtracking",
    );
  }
  return { source, expression };
}

/**
 * Runs every pattern on every name, and says for each name which pattern matched first.
 * The check above misses patterns that take for ever on the right name, and names come from
 * the server: so this runs under a limit. A pattern that hits it is in `hung`.
 */
export function matchNames(
  patterns: readonly Pattern[],
  names: readonly string[],
): { readonly matches: (Pattern | null)[]; readonly matched: Set<Pattern>; readonly hung: Pattern | null } {
  const matches: (Pattern | null)[] = names.map(() => null);
  const matched = new Set<Pattern>();
  let current: Pattern | null = null;
  const work = (): void => {
    for (const pattern of patterns) {
      current = pattern;
      for (let index = 0; index < names.length; index++) {
        if (!pattern.expression.test(names[index])) continue;
        matched.add(pattern);
        matches[index] ??= pattern;
      }
    }
    current = null;
  };
  return runLimited(work) ? { matches, matched, hung: null } : { matches, matched, hung: current };
}

/** Long enough that a busy machine does not trip it, short enough to live through once. */
const MATCH_LIMIT_MS = 1000;

/** Runs work that may never end. False when it was stopped. */
function runLimited(work: () => void): boolean {
  const host = globalThis as { [SLOT]?: () => void };
  host[SLOT] = work;
  try {
    // Of all that Node offers, only vm's time limit interrupts a regular expression in the same thread.
    runInThisContext(`globalThis[Symbol.for("${NAME}")]()`, { timeout: MATCH_LIMIT_MS });
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
    throw error;
  } finally {
    delete host[SLOT];
  }
}

const NAME = "fairlead.match";
const SLOT = Symbol.for(NAME);

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
