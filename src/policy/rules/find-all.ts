import type { RE2JS } from "re2js";
import { beginWork, spend, type Work } from "./work.ts";

/** Where in a text a pattern matches. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds all matches of a pattern in a text of any length, in order. What that costs is counted in steps: a search is
 * linear, but with some patterns each match begins a search to the end of the text. Throws where the work runs out.
 */
export function findAll(expression: RE2JS, source: string, text: string, work: Work = beginWork()): Match[] {
  const isShort = text.length <= PIECE_CHARACTERS;
  if (isShort || !isQuick(source)) return findFrom(expression, text, 0, work).matches;
  if (isBounded(source)) return findInPieces(expression, text, work);
  return hasMatch(expression, text, work) ? findFrom(expression, text, 0, work).matches : [];
}

/** Longer texts are looked through in pieces, to find out where it is worth while to look for matches. */
const PIECE_CHARACTERS = 16_384;

/** Pieces overlap by so many characters on either side. Patterns whose matches may be longer are not run on pieces. */
const OVERLAP_CHARACTERS = 1024;

/** What it costs to find out whether there is a match: the engine goes from state to state, one for each character. */
const STEPS_PER_CHARACTER = 1;

/**
 * The engine says ten times faster that there is a match than where it is. So each piece is asked first, with what stands
 * around it: every match lies in some piece, whole. Only where a piece says yes are the matches looked for, and in the whole
 * text, so that nothing begins or ends at the edge of a piece.
 */
function findInPieces(expression: RE2JS, text: string, work: Work): Match[] {
  const matches: Match[] = [];
  let from = 0; // all that begins before this is found
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
  /** Whether nothing more was found up to the end of the text. */
  readonly isLast: boolean;
}

/** The matches from a place on, up to the first that begins behind `until`. */
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

/** What it costs to begin one more search. */
const STEPS_PER_MATCH = 300;

/** A text that counts how often the engine looks at it. The engine takes everything that is a String. */
class CountedText extends String {
  // Plain members: private ones are slower, and this is asked for every character.
  readonly text: string;
  readonly steps: number;
  readonly work: Work;
  looks = 0;

  constructor(text: string, size: number, work: Work) {
    super(text);
    this.text = text;
    // In a short text each instruction looks by itself; in a long one all look together, four times for each character.
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
 * Whether the engine can go from state to state, one for each character, whatever the text is. A pattern with many places
 * in which anything may stand has more states than there is room for: two to the power of their number, at worst.
 */
function isQuick(source: string): boolean {
  // What is repeated as a group counts as often as it is.
  if (/\)\{/.test(source)) return false;
  let places = 0;
  for (const [, repeated = "", most = ""] of source.matchAll(WIDE)) {
    if (repeated === "") places++;
    else if (repeated.startsWith("{")) places += most === "" ? Number(/\d+/.exec(repeated)?.[0]) : Number(most);
  }
  return places <= MAX_PLACES;
}

const MAX_PLACES = 12;
// A dot, a class, or an escape for one, and the repetition behind it.
const WIDE = /(?:\\[dDwWsSpP]|(?<!\\)\.|\[\^?\]?(?:\\.|[^\]\\])*\])([*+]|\{\d+(?:,(\d*))?\})?/g;

/** Whether every match is shorter than the overlap. */
function isBounded(source: string): boolean {
  const counts = Array.from(source.matchAll(/\{(?:\d+,)?(\d*)\}/g), ([, most]) =>
    most === "" ? Infinity : Number(most),
  );
  const longest = counts.reduce((product, count) => product * Math.max(1, count), source.length);
  return !/[*+]/.test(source) && longest <= OVERLAP_CHARACTERS;
}
