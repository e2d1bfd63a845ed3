import { createMistake, type FilterMistake, show } from "./mistake.ts";

/** A pattern that can be run. It may throw where a text is too long for it; such a row cannot be judged. */
export interface FilterPattern {
  test(text: string): boolean;
}

/**
 * Turns the source of a pattern into one that can be run, or says what is wrong with it. The engine must
 * be one of linear time with the syntax of RE2; the one that rules use fits.
 */
export type CompilePattern = (source: string) => FilterPattern | { readonly problem: string };

/** Whether a pattern was made. */
export function isPattern(made: ReturnType<CompilePattern>): made is FilterPattern {
  return "test" in made;
}

/** The source of a pattern that looks at letters of either case. */
export function ignoringCase(source: string): string {
  return `(?i)${source}`;
}

/** What is wrong with a pattern whose source begins here in the text of a filter. */
export function explainPattern(source: string, problem: string, start: number): FilterMistake {
  const { reason, index } = findPlace(source, problem);
  const end = start + source.length;
  // What is missing at the end is shown at the slash that comes there.
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

// What the engine says, in the words of someone who is looking at the pattern.
const REASONS = new Map([
  ["missing argument to repetition operator", "nothing is repeated by"],
  ["invalid nested repetition operator", "two repetitions in a row:"],
  ["invalid escape sequence", "unknown escape"],
  ["invalid character class range", "unknown range or class"],
  ["invalid repeat count", "cannot repeat"],
  ["invalid named capture", "unknown group"],
  ["invalid or unsupported Perl syntax", "unknown group"],
]);

/** Where the closing bracket is that was never opened. */
function findUnopened(source: string): number | null {
  let open = 0;
  let inClass = false;
  for (let at = 0; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at++;
    else if (inClass) inClass = character !== "]";
    else if (character === "[") {
      inClass = true;
      // A bracket in first place is itself.
      if (source[at + 1] === "^") at++;
      if (source[at + 1] === "]") at++;
    } else if (character === "(") open++;
    else if (character === ")" && --open < 0) return at;
  }
  return null;
}
