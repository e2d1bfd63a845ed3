/** Whether a text contains one of the names, as far as the time limit allows to find out. */
export type NameFinder = (text: string, names: readonly string[]) => boolean;

/** Time limit for all searches within one second, in milliseconds. */
export const SEARCH_MS = 50;

/** Longer names are not searched for: a text with a thousand near matches would cost too much. */
export const MAX_SOUGHT_CHARACTERS = 64;

/** Makes a finder. A match only leads to a note in the audit log, so the finder stops when a search takes too long. */
export function createNameFinder(now: () => number): NameFinder {
  let second = Number.NEGATIVE_INFINITY;
  let spent = 0;

  return (text, names) => {
    let began = now();
    if (began - second >= 1000) {
      second = began;
      spent = 0;
    }
    for (const name of names) {
      if (spent >= SEARCH_MS) return false;
      if (name.length > MAX_SOUGHT_CHARACTERS) continue;
      const isThere = text.includes(name);
      const ended = now();
      spent += ended - began;
      began = ended;
      if (isThere) return true;
    }
    return false;
  };
}
