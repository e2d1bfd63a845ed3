import { readPlace, type Reading } from "../text/path-readings.ts";

/** Whether a path or URI is certain to be inside one of the folders. */
export type WithinTest = (text: string) => boolean;

/**
 * Creates a test for paths and URIs below any of these roots, which are paths or URIs themselves. Servers may read a
 * text in several ways, for example decode it or treat a backslash as a slash: it is within the roots only if every
 * reading is. A text that cannot be resolved is not within them.
 */
export function within(roots: readonly string[]): WithinTest {
  const isBelow = below(roots);
  return (text) => isBelow(readPlace(text));
}

/** The same for the readings of a text; null for a text that cannot be resolved. */
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
  // A loose reading of a root covers more than its author wrote, so it may only contain texts read in the same way.
  if (root.way !== "plain" && root.way !== reading.way) return false;
  if (root.origin !== reading.origin || root.drive !== reading.drive) return false;
  if (root.segments.length > reading.segments.length) return false;
  for (let nth = 0; nth < root.segments.length; nth++) {
    if (!isSame(root.segments[nth], reading.segments[nth], root.drive)) return false;
  }
  return true;
}

/** On paths with a drive letter, names are compared without regard to letter case. */
function isSame(one: string, other: string, drive: string | null): boolean {
  return (
    (one.length === other.length && one === other) || (drive !== null && one.toLowerCase() === other.toLowerCase())
  );
}
