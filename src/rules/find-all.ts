import type { RE2JS } from "re2js";
import { beginWork, spend, type Work } from "./work.ts";

/** The span of a match in a text. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds all matches of a pattern in a text of any length, in order. The cost is counted in steps: one search is linear,
 * but with some patterns every match starts a search to the end of the text. Throws if the message has no steps left.
 */
export function findAll(expression: RE2JS, source: string, text: string, work: Work = beginWork()): Match[] {
  const isShort = text.length <= PIECE_CHARACTERS;
  if (isShort || !isQuick(source)) return findFrom(expression, text, 0, work).matches;
  if (isBounded(source)) return findInPieces(expression, text, work);
  return hasMatch(expression, text, work) ? findFrom(expression, text, 0, work).matches : [];
}

/** Longer texts are tested in pieces first, to find the pieces in which a search for matches is worthwhile. */
const PIECE_CHARACTERS = 16_384;

/** Pieces overlap by this many characters on either side. Patterns with longer matches are not tested on pieces. */
const OVERLAP_CHARACTERS = 1024;

/** The cost of testing whether there is a match: the engine runs a DFA, with one transition for each character. */
const STEPS_PER_CHARACTER = 1;

/**
 * The engine finds out whether there is a match ten times faster than where it is. So each piece is tested first,
 * together with the overlap, so that every match is completely inside some piece. The search for matches runs only
 * where the test succeeds, and on the whole text, so that no match begins or ends at the boundary of a piece.
 */
function findInPieces(expression: RE2JS, text: string, work: Work): Match[] {
  const matches: Match[] = [];
  let from = 0; // all matches that begin before this offset are found
  for (let start = 0; start < text.length; start += PIECE_CHARACTERS) {
    const end = start + PIECE_CHARACTERS;
    if (from >= end) continue;
    const left = Math.max(0, start - OVERLAP_CHARACTERS);
    if (!hasMatch(expression, text.slice(left, end + OVERLAP_CHARACTERS), work)) continue;
    const some = findFrom(expression, text, Math.max(from, left), work, end);
    for (const match of some.matches) matches.push(match);
    if (some.isLast) break;
    from = Math.max(end, matches.at(-1)?.end ?? 0);
  }
  return matches;
}

function hasMatch(expression: RE2JS, piece: string, work: Work): boolean {
  spend(work, STEPS_PER_CHARACTER * piece.length);
  return expression.test(piece);
}

interface Found {
  readonly matches: Match[];
  /** Whether the search reached the end of the text. */
  readonly isLast: boolean;
}

/** The matches from an offset on, up to and including the first one that begins at or after `until`. */
function findFrom(expression: RE2JS, text: string, from: number, work: Work, until = Infinity): Found {
  const counted = new CountedText(text, expression.programSize(), work);
  const matcher = expression.matcher(counted as unknown as string);
  const matches: Match[] = [];
  let isThere = from === 0 ? matcher.find() : matcher.find(from);
  for (; isThere; isThere = matcher.find()) {
    spend(work, STEPS_PER_MATCH);
    const match = { start: matcher.start(), end: matcher.end() };
    if (match.end > match.start) matches.push(match);
    if (match.start >= until) return { matches, isLast: false };
  }
  return { matches, isLast: true };
}

/** The cost of starting another search. */
const STEPS_PER_MATCH = 300;

/** A string that counts how often the engine reads a character. The engine accepts any String object. */
class CountedText extends String {
  // Public fields, because private ones are slower and `charCodeAt` runs for every character.
  readonly text: string;
  readonly steps: number;
  readonly work: Work;
  looks = 0;

  constructor(text: string, size: number, work: Work) {
    super(text);
    this.text = text;
    // In a short text the engine backtracks, and each instruction reads for itself. In a long one it runs all
    // instructions together and reads each character four times.
    this.steps = LOOKS_AT_ONCE * (size * text.length <= MAX_BACKTRACKED ? 2 : 3 + (size >> 2));
    this.work = work;
  }

  override charCodeAt(index: number): number {
    if (++this.looks === LOOKS_AT_ONCE) {
      this.looks = 0;
      spend(this.work, this.steps);
    }
    return this.text.charCodeAt(index);
  }
}

const LOOKS_AT_ONCE = 256;
const MAX_BACKTRACKED = 262_144;

/**
 * Whether the engine can run the pattern as a DFA on any text. A pattern with many places that match any of several
 * characters has too many states: at worst, two to the power of the number of such places.
 */
function isQuick(source: string): boolean {
  // A counted group multiplies the places in it.
  if (/\)\{/.test(source)) return false;
  let places = 0;
  for (const [, repeated = "", most = ""] of source.matchAll(WIDE)) {
    if (repeated === "") places++;
    else if (repeated.startsWith("{")) places += most === "" ? Number(/\d+/.exec(repeated)?.[0]) : Number(most);
  }
  return places <= MAX_PLACES;
}

const MAX_PLACES = 12;
// A dot, a character class or an escape for one, with the repetition after it.
const WIDE = /(?:\\[dDwWsSpP]|(?<!\\)\.|\[\^?\]?(?:\\.|[^\]\\])*\])([*+]|\{\d+(?:,(\d*))?\})?/g;

/** Whether no match is longer than the overlap. */
function isBounded(source: string): boolean {
  const counts = Array.from(source.matchAll(/\{(?:\d+,)?(\d*)\}/g), ([, most]) =>
    most === "" ? Infinity : Number(most),
  );
  const longest = counts.reduce((product, count) => product * Math.max(1, count), source.length);
  return !/[*+]/.test(source) && longest <= OVERLAP_CHARACTERS;
}
