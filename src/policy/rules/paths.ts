import { readPlace, type Reading } from "./path-readings.ts";

/** Whether a path or URI is certain to lead into one of some folders. */
export type WithinTest = (text: string) => boolean;

/**
 * Makes a test for paths and URIs below any of these roots, which are paths or URIs themselves. A
 * text can be read in several ways, by whoever decodes it or takes a backslash for a slash: it is
 * within only if every reading is. What cannot be resolved is not within.
 */
export function within(roots: readonly string[]): WithinTest {
  const known = roots.flatMap((root) => readPlace(root) ?? []);
  return (text) => {
    const readings = readPlace(text);
    return readings !== null && readings.every((reading) => known.some((root) => contains(root, reading)));
  };
}

/** Which of these roots is no path or URI that anything could be below of. */
export function unreadableRoots(roots: readonly string[]): string[] {
  return roots.filter((root) => readPlace(root) === null);
}

function contains(root: Reading, reading: Reading): boolean {
  // A root read loosely is more than its author wrote: it may only hold what is read as loosely.
  if (root.way !== "plain" && root.way !== reading.way) return false;
  if (root.origin !== reading.origin || root.drive !== reading.drive) return false;
  if (root.segments.length > reading.segments.length) return false;
  // Where there are drives, names are the same in either case.
  const isLoose = root.drive !== null;
  return root.segments.every((segment, index) => {
    const other = reading.segments[index];
    return segment === other || (isLoose && segment.toLowerCase() === other.toLowerCase());
  });
}
