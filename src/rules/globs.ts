import { readPlace } from "../text/path-readings.ts";

/** Whether a path or URI matches one of the globs in at least one reading. */
export type GlobTest = (text: string) => boolean;

/**
 * Creates a test for paths and URIs that match any of these globs: `*` matches anything within a segment, `**` anything
 * at all, `?` one character. A glob without a slash is compared with the last segment, one with a slash with the whole
 * path. Letter case is ignored, because globs are used for what is denied. A text that cannot be resolved could mean
 * any path, so it matches.
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

/** A character, `?`, `*`, `**`, or a `**` with its slash, which matches whole segments. */
type Token = string;

function tokenize(pattern: string): Token[] {
  const anywhere = pattern.includes("/") && !/^[/*]/.test(pattern) ? `**/${pattern}` : pattern;
  return anywhere.match(/\*\*\/?|[^]/gu) ?? [];
}

/** Walks over glob and text together, and keeps the set of all positions in the glob that are still possible. */
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

/** Adds the positions that can be reached without reading a character, because a star may match nothing. */
function reach(tokens: readonly Token[], places: Set<number>, isBegin: boolean): Set<number> {
  for (const place of places) {
    const token = tokens[place];
    if (token === "*" || token === "**" || (token === "**/" && isBegin)) places.add(place + 1);
  }
  return places;
}
