/** Mark for any one character in a name: `?`, or a class such as `[a-z]`. */
export const ONE = "\uE000";
/** Mark for any characters in a name: `*`. */
export const STAR = "\uE001";
/** Mark for `**`: as a whole name any number of names; inside a name the same as STAR. */
export const DEEP = "\uE002";
/** Mark for the unknown value of a variable or a substitution: any characters, including slashes. */
export const ANY = "\uE003";

/** Replaces these marks in a text from a message, so that a sender cannot use them as wildcards. */
export function withoutMarks(text: string): string {
  return text.replace(MARKS, "\uFFFD");
}

/** A text with its marks written as wildcards, for people. */
export function showMarks(text: string): string {
  return text.replaceAll(ONE, "?").replaceAll(STAR, "*").replaceAll(DEEP, "**").replaceAll(ANY, "$…");
}

const MARK = /[\uE000-\uE003]/;
const MARKS = /[\uE000-\uE003]/g;
const LOOSE = /[\uE001-\uE003]/;

/** One name in a path, folded for comparison, with marks as wildcards. */
export interface Name {
  readonly text: string;
  readonly isWild: boolean;
  /** Whether it has literal text: a letter or a digit beside its wildcards, or the leading dot of a hidden file. */
  readonly hasLiteral: boolean;
  /** Whether it may match any number of names. */
  readonly isDeep: boolean;
  /** Whether it consists only of a variable, whose value is unknown. */
  readonly isVariable: boolean;
}

/** Creates a name. */
export function nameOf(text: string): Name {
  const isWild = MARK.test(text);
  const hasLiteral = TELLING.test(text) || (isWild && text.startsWith(".") && !text.includes(ANY));
  if (!isWild) return { text, isWild, hasLiteral, isDeep: false, isVariable: false };
  const isVariable = !hasLiteral && text.includes(ANY);
  const isDeep = isVariable || (!hasLiteral && text.includes(DEEP));
  return { text, isWild, hasLiteral, isDeep, isVariable };
}

// Any character except ASCII punctuation and marks.
const TELLING = /[^ -/:-@[-`{-~\uE000-\uE003]/;

/** The remaining steps. When they run out, the search ends, so that the message is not delayed further. */
export interface Budget {
  left: number;
}

/** Thrown when a budget is exhausted. */
export class Spent extends Error {}

/** Takes steps from a budget. */
export function spendSteps(budget: Budget, steps: number): void {
  budget.left -= steps;
  if (budget.left < 0) throw new Spent();
}

/**
 * Whether a name in a pattern and a name in a message can stand for the same file name. If both have wildcards, they
 * must share a literal character: `*.ts` and `.env*` could both be `.env.ts`, but neither of them says so.
 */
export function canBeSame(one: Name, other: Name, budget: Budget): boolean {
  if (!one.isWild && !other.isWild) return one.text === other.text;
  if (one.isWild && other.isWild) return overlap(one.text, other.text, one.hasLiteral && other.hasLiteral, budget);
  return one.isWild ? fits(one.text, other.text, budget) : fits(other.text, one.text, budget);
}

/** Whether a name without wildcards matches one with wildcards. */
function fits(pattern: string, text: string, budget: Budget): boolean {
  spendSteps(budget, pattern.length + text.length);
  let [at, place, star, mark] = [0, 0, -1, 0];
  while (at < text.length) {
    if (place < pattern.length && (pattern[place] === ONE || pattern[place] === text[at])) {
      at++;
      place++;
    } else if (place < pattern.length && LOOSE.test(pattern[place])) {
      star = place++;
      mark = at;
    } else if (star >= 0) {
      spendSteps(budget, 1);
      place = star + 1;
      at = ++mark;
    } else return false;
  }
  while (place < pattern.length && LOOSE.test(pattern[place])) place++;
  return place === pattern.length;
}

/**
 * Whether some text matches both names. With `mustMeet`, both must have the same literal character at one position of
 * it.
 */
function overlap(one: string, other: string, mustMeet: boolean, budget: Budget): boolean {
  spendSteps(budget, (one.length + 1) * (other.length + 1));
  // For each pair of positions: unreachable (0), reachable without a shared literal character (1), with one (2), or
  // both (3).
  const width = other.length + 1;
  const reached = new Uint8Array((one.length + 1) * width);
  reached[0] = 1;
  for (let row = 0; row <= one.length; row++) {
    for (let column = 0; column < width; column++) {
      const here = reached[row * width + column];
      if (here === 0) continue;
      const [left, right] = [one[row], other[column]];
      const isLeftLoose = left !== undefined && LOOSE.test(left);
      const isRightLoose = right !== undefined && LOOSE.test(right);
      if (isLeftLoose) reached[(row + 1) * width + column] |= here;
      if (isRightLoose) reached[row * width + column + 1] |= here;
      if (left === undefined || right === undefined) continue;
      if (isLeftLoose) {
        if (!isRightLoose) reached[row * width + column + 1] |= here;
      } else if (isRightLoose) reached[(row + 1) * width + column] |= here;
      else if (left === right && left !== ONE) reached[(row + 1) * width + column + 1] |= 2;
      else if (left === ONE || right === ONE) reached[(row + 1) * width + column + 1] |= here;
    }
  }
  const end = reached[one.length * width + other.length];
  return mustMeet ? (end & 2) !== 0 : end !== 0;
}
