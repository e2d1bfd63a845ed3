import { createMistake, type FilterMistake, show } from "./mistake.ts";

/** A compiled pattern. It may throw if a text is too long; the row then cannot be judged. */
export interface FilterPattern {
  test(text: string): boolean;
}

/**
 * Compiles a pattern, or says what is wrong with it. The engine must run in linear time and use RE2 syntax, like the
 * engine for rules.
 */
export type CompilePattern = (source: string) => FilterPattern | { readonly problem: string };

/** Whether a pattern compiled. */
export function isPattern(made: ReturnType<CompilePattern>): made is FilterPattern {
  return "test" in made;
}

/** The source of a pattern that ignores letter case. */
export function ignoringCase(source: string): string {
  return `(?i)${source}`;
}

/** Describes what is wrong with a pattern whose source begins at `start` in the text of a filter. */
export function explainPattern(source: string, problem: string, start: number): FilterMistake {
  const { reason, index } = findPlace(source, problem);
  const end = start + source.length;
  // If something is missing at the end, mark the closing slash.
  const at = index === null ? { start, end } : { start: start + index, end: Math.min(start + index + 1, end + 1) };
  const place = index === null ? "" : ` at ${index + 1}`;
  return createMistake({ at }, `Not a pattern: ${show(reason)}${place}`);
}

function findPlace(source: string, problem: string): { reason: string; index: number | null } {
  const [, construct, written] = /^has an? ([\w ]+) \(([^…)]*)…?\), which/.exec(problem) ?? [];
  if (construct !== undefined) {
    const piece = written.startsWith("?") ? `(${written}` : written;
    const index = source.indexOf(piece);
    return { reason: `RE2 has no ${construct} ${piece}`, index: index < 0 ? null : index };
  }
  const [, reason = "", fragment = ""] = /^does not compile: (.*?)(?:: `(.*)`)?$/s.exec(problem) ?? [];
  if (reason === "") return { reason: `it ${problem}`, index: null };
  const missing = /^missing closing (.)/.exec(reason);
  if (missing !== null) return { reason: `missing ${missing[1]}`, index: source.length };
  if (reason === "unexpected )") return { reason, index: findUnopened(source) };
  const index = fragment === "" ? -1 : source.indexOf(fragment);
  const plain = REASONS.get(reason) ?? reason;
  return { reason: fragment === "" ? plain : `${plain} ${fragment}`, index: index < 0 ? null : index };
}

// The error messages of the engine in plainer words.
const REASONS = new Map([
  ["missing argument to repetition operator", "nothing is repeated by"],
  ["invalid nested repetition operator", "two repetitions in a row:"],
  ["invalid escape sequence", "unknown escape"],
  ["invalid character class range", "unknown range or class"],
  ["invalid repeat count", "cannot repeat"],
  ["invalid named capture", "unknown group"],
  ["invalid or unsupported Perl syntax", "unknown group"],
]);

/** The offset of the unmatched closing parenthesis, or null. */
function findUnopened(source: string): number | null {
  let open = 0;
  let inClass = false;
  for (let at = 0; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at++;
    else if (inClass) inClass = character !== "]";
    else if (character === "[") {
      inClass = true;
      // A closing bracket in first place is a literal character.
      if (source[at + 1] === "^") at++;
      if (source[at + 1] === "]") at++;
    } else if (character === "(") open++;
    else if (character === ")" && --open < 0) return at;
  }
  return null;
}
