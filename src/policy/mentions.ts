/** Whether one of these names is in a text, as far as there is time to look. */
export type NameFinder = (text: string, names: readonly string[]) => boolean;

/** How long a search may take in each second, all texts together. */
export const SEARCH_MS = 50;

/** Longer names are not looked for: text that almost holds them a thousand times costs too much. */
export const MAX_SOUGHT_CHARACTERS = 64;

/** Makes a finder. What it finds is worth a note and no more, so it gives up where looking gets dear. */
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
