/** Where in a text something was found. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Finds all of one kind in a text. It takes time that grows with the text and no faster. */
export interface Finder {
  /** What has to be in a text for anything to be found: quick to look for, and together with those of other kinds. */
  readonly hint: RegExp;
  /** In order. */
  find(text: string): Range[];
}

/** Makes a finder of a pattern. What only looks alike is sorted out by `check`. */
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
          // What begins further on, or before, is found in its own piece.
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

/** A pattern is run on so much of a text at a time: on a run of many megabytes the engine's own stack overflows. */
const PIECE_CHARACTERS = 1_048_576;

/** Pieces overlap: by what a pattern may want to see before a secret, and by what the secret itself takes behind it. */
const BEFORE_CHARACTERS = 256;
const BEHIND_CHARACTERS = 8192;

/** A secret that does not end in its piece goes on to the next space. */
function endOfRun(text: string, from: number): number {
  SPACE.lastIndex = from;
  return SPACE.exec(text)?.index ?? text.length;
}

const SPACE = /\s/g;

/** From the first line of a private key to its last; to the end of the text where that is missing, because it was cut. */
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
