/** The range of a match in a text. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Finds all matches of one kind in a text, in linear time. */
export interface Finder {
  /** A cheap pattern that occurs in every text with a match. Hints of several kinds can be combined. */
  readonly hint: RegExp;
  /** In order. */
  find(text: string): Range[];
}

/** Creates a finder from a pattern. `check` excludes false matches. */
export function createFinder(hint: RegExp, pattern: RegExp, check?: (text: string) => boolean): Finder {
  return {
    hint,
    find(text) {
      const found: Range[] = [];
      if (!hint.test(text)) return found;
      for (let core = 0; core < text.length; core += PIECE_CHARACTERS) {
        const start = Math.max(0, core - BEFORE_CHARACTERS);
        const end = core + PIECE_CHARACTERS + BEHIND_CHARACTERS;
        const piece = start === 0 && end >= text.length ? text : text.slice(start, end);
        for (const { 0: match, index } of piece.matchAll(pattern)) {
          const from = start + index;
          // A match that begins outside the core of this piece is found in another piece.
          if (from >= core + PIECE_CHARACTERS || from < core || from < (found.at(-1)?.end ?? 0)) continue;
          if (check !== undefined && !check(match)) continue;
          const isCut = end < text.length && index + match.length === piece.length;
          found.push({ start: from, end: isCut ? endOfRun(text, end) : from + match.length });
        }
      }
      return found;
    },
  };
}

/** The pattern is run on pieces of this length: a match of many megabytes would overflow the regex engine's stack. */
const PIECE_CHARACTERS = 1_048_576;

/** Pieces overlap: before the core by what a lookbehind may need, and after it by the length of a secret. */
const BEFORE_CHARACTERS = 256;
const BEHIND_CHARACTERS = 8192;

/** A secret that is cut off by the end of its piece extends to the next whitespace. */
function endOfRun(text: string, from: number): number {
  SPACE.lastIndex = from;
  return SPACE.exec(text)?.index ?? text.length;
}

const SPACE = /\s/g;

/**
 * Finds private keys from their first line to their last. If the last line is missing because the text was cut, the key
 * extends to the end of the text.
 */
export function findPrivateKeys(text: string): Range[] {
  const found: Range[] = [];
  BEGIN.lastIndex = 0;
  for (let begin = BEGIN.exec(text); begin !== null; begin = BEGIN.exec(text)) {
    END.lastIndex = BEGIN.lastIndex;
    const end = END.exec(text) === null ? text.length : END.lastIndex;
    found.push({ start: begin.index, end });
    BEGIN.lastIndex = end;
  }
  return found;
}

const BEGIN = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g;
const END = /-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g;
