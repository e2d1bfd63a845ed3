/** Starts to scrub one message. The returned function removes hidden names from a text; null if that took too long. */
export type Scrubber = () => (text: string) => string | null;

/** Replaces a hidden name. */
const HIDDEN = "[hidden]";

/** Shorter names may be common words, so they match only as whole words. */
const MIN_APART = 6;

/** Limit for the comparisons of a name with a position, for one message. */
const MAX_COMPARED = 4_000_000;

interface Sought {
  readonly name: string;
  readonly isHidden: boolean;
}

/** Makes a scrubber. The name of a shown tool stays, even if it contains a hidden name. */
export function createScrubber(hidden: Iterable<string>, shown: Iterable<string>): Scrubber {
  const index = new Map<number, Sought[]>();
  const add = (text: string, isHidden: boolean): void => {
    const name = lower(text);
    if (name === "") return;
    const key = keyAt(name, 0);
    const others = index.get(key);
    if (others === undefined) index.set(key, [{ name, isHidden }]);
    else others.push({ name, isHidden });
  };
  for (const name of hidden) add(name, true);
  for (const name of shown) add(name, false);
  for (const names of index.values()) names.sort((one, other) => other.name.length - one.name.length);

  return () => {
    let compared = 0;

    function find(text: string, at: number): Sought | null {
      for (const key of [keyAt(text, at), text.charCodeAt(at)]) {
        for (const sought of index.get(key) ?? []) {
          compared++;
          if (text.startsWith(sought.name, at) && standsAlone(text, at, sought.name.length)) return sought;
        }
      }
      return null;
    }

    return (text) => {
      const searched = lower(text);
      let clean = "";
      let kept = 0; // end of the text that has been copied
      for (let at = 0; at < searched.length;) {
        const found = find(searched, at);
        if (compared > MAX_COMPARED) return null;
        if (found === null) {
          at++;
          continue;
        }
        if (found.isHidden) {
          clean += text.slice(kept, at) + HIDDEN;
          kept = at + found.name.length;
        }
        at += found.name.length;
      }
      return kept === 0 ? text : clean + text.slice(kept);
    };
  };
}

/**
 * Lower case of the same length, because positions in the text must stay the same. "İ" is the only character whose lower
 * case is longer. The lower case of "Σ" depends on what follows it, so both forms become one.
 */
function lower(text: string): string {
  return text.replaceAll("İ", "i").toLowerCase().replaceAll("ς", "σ");
}

/** The two characters at a position, as a number. At the end of the text it is one character. */
function keyAt(text: string, at: number): number {
  return at + 1 < text.length ? text.charCodeAt(at + 1) * 65_536 + text.charCodeAt(at) : text.charCodeAt(at);
}

function standsAlone(text: string, at: number, length: number): boolean {
  if (length >= MIN_APART) return true;
  return !WORD.test(text.charAt(at - 1)) && !WORD.test(text.charAt(at + length));
}

const WORD = /[\p{L}\p{N}_]/u;
