import { readPlace } from "../text/path-readings.ts";

/** Whether a path or URI is one that some patterns speak of, in any reading. */
export type GlobTest = (text: string) => boolean;

/**
 * Makes a test for paths and URIs that match any of these patterns: `*` is anything within a
 * segment, `**` anything at all, `?` one character. A pattern without a slash is about the last
 * segment, one with a slash about the whole path. Case does not matter: this is for what is denied.
 * What cannot be read might be anything, and so matches.
 */
export function matchesGlob(patterns: readonly string[]): GlobTest {
  const globs = patterns.map((pattern) => ({
    tokens: tokenize(pattern.toLowerCase()),
    isName: !pattern.includes("/"),
  }));
  return (text) => {
    const readings = readPlace(text);
    if (readings === null) return patterns.length > 0;
    return readings.some(({ drive, segments }) => {
      const path = `${drive === null ? "" : `/${drive}:`}/${segments.join("/")}`.toLowerCase();
      const name = path.slice(path.lastIndexOf("/") + 1);
      return globs.some(({ tokens, isName }) => isMatch(tokens, isName ? name : path));
    });
  };
}

/** A character, `?`, `*`, `**`, or a `**` with its slash, which stands for whole segments. */
type Token = string;

function tokenize(pattern: string): Token[] {
  const anywhere = pattern.includes("/") && !/^[/*]/.test(pattern) ? `**/${pattern}` : pattern;
  return anywhere.match(/\*\*\/?|[^]/gu) ?? [];
}

/** Goes through pattern and text together, and keeps every place in the pattern that is still possible. */
function isMatch(tokens: readonly Token[], text: string): boolean {
  let places = reach(tokens, new Set([0]), true);
  for (const character of text) {
    const next = new Set<number>();
    for (const place of places) {
      const token = tokens[place];
      if (token === "**" || token === "**/" || (token === "*" && character !== "/")) next.add(place);
      else if (token === character || (token === "?" && character !== "/")) next.add(place + 1);
    }
    if (next.size === 0) return false;
    places = reach(tokens, next, character === "/");
  }
  return places.has(tokens.length);
}

/** With what can be reached without a character: a star may stand for nothing. */
function reach(tokens: readonly Token[], places: Set<number>, isBegin: boolean): Set<number> {
  for (const place of places) {
    const token = tokens[place];
    if (token === "*" || token === "**" || (token === "**/" && isBegin)) places.add(place + 1);
  }
  return places;
}
