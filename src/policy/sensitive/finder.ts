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
      for (const { 0: match, index } of text.matchAll(pattern)) {
        if (check === undefined || check(match)) found.push({ start: index, end: index + match.length });
      }
      return found;
    },
  };
}

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
