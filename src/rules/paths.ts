import { readPlace, type Reading } from "../text/path-readings.ts";

/** Whether a path or URI is certain to lead into one of some folders. */
export type WithinTest = (text: string) => boolean;

/**
 * Makes a test for paths and URIs below any of these roots, which are paths or URIs themselves. A
 * text can be read in several ways, by whoever decodes it or takes a backslash for a slash: it is
 * within only if every reading is. What cannot be resolved is not within.
 */
export function within(roots: readonly string[]): WithinTest {
  const isBelow = below(roots);
  return (text) => isBelow(readPlace(text));
}

/** The same for the readings of a text, where somebody has them. Null is what cannot be resolved. */
export function below(roots: readonly string[]): (readings: readonly Reading[] | null) => boolean {
  const known = roots.flatMap((root) => readPlace(root) ?? []);
  return (readings) => {
    if (readings === null) return false;
    for (const reading of readings) if (!isInOne(known, reading)) return false;
    return true;
  };
}

function isInOne(roots: readonly Reading[], reading: Reading): boolean {
  for (const root of roots) if (contains(root, reading)) return true;
  return false;
}

function contains(root: Reading, reading: Reading): boolean {
  // A root read loosely is more than its author wrote: it may only hold what is read as loosely.
  if (root.way !== "plain" && root.way !== reading.way) return false;
  if (root.origin !== reading.origin || root.drive !== reading.drive) return false;
  if (root.segments.length > reading.segments.length) return false;
  for (let nth = 0; nth < root.segments.length; nth++) {
    if (!isSame(root.segments[nth], reading.segments[nth], root.drive)) return false;
  }
  return true;
}

/** Where there are drives, names are the same in either case. */
function isSame(one: string, other: string, drive: string | null): boolean {
  return (
    (one.length === other.length && one === other) || (drive !== null && one.toLowerCase() === other.toLowerCase())
  );
}
