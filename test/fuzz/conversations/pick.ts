/** One of several, by a number that may be larger than they are many. A negative one counts from the end. */
export function pick<T>(among: readonly T[], nth: number): T {
  return nth < 0 ? (among.at(Math.max(nth, -among.length)) as T) : among[nth % among.length];
}
