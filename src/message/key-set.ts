import { randomBytes } from "node:crypto";
import { BACKSLASH, QUOTE } from "./characters.ts";
import { hashString, isSameString } from "./spelling.ts";
import { readText } from "./text.ts";

/**
 * The keys of one object, to find one that is there twice, however it is spelled. Each key is a place in the bytes and a
 * hash: no text is made of it.
 */
export interface KeySet {
  /** Adds the key between two places. */
  add(bytes: Buffer, start: number, end: number): Added;
  /** Forgets all keys. */
  clear(): void;
}

/** Whether a key is new or was there before; or it has half of a surrogate pair in it. */
export type Added = "new" | "twice" | "broken";

// A sender who knew how keys are hashed could choose keys that all fall into one place.
const SEED = randomBytes(4).readInt32LE(0) | 1;

/** So many places in a row that are taken are no accident. */
const MAX_PROBES = 256;

/** Room for so many keys is made at first, and kept from one object to the next. */
const FIRST_PLACES = 64;

/** Makes an empty set. Where `maxProbes` places in a row are taken, it goes over to a set of texts. */
export function createKeySet(maxProbes = MAX_PROBES): KeySet {
  // Two numbers for each place: the hash of the key there, and where the key starts, or -1. Side by side, because the
  // table of a large object does not fit into the processor's cache.
  let places = new Int32Array(2 * FIRST_PLACES).fill(-1);
  let size = 0;
  // Used instead of the places once too many keys fall near each other. The engine hashes by a secret of its own.
  let texts: Set<string> | null = null;

  /** Where the key is, or where it should be put; -1 where there is no room near its place. */
  function seek(bytes: Buffer, start: number, hash: number): number {
    const mask = places.length - 1;
    let place = (hash << 1) & mask;
    for (let probe = 0; probe < maxProbes; probe++) {
      const other = places[place + 1];
      if (other < 0 || (places[place] === hash && isSameString(bytes, other, start))) return place;
      place = (place + 2) & mask;
    }
    return -1;
  }

  function grow(bytes: Buffer): void {
    const old = places;
    places = new Int32Array(2 * old.length).fill(-1);
    for (let place = 0; place < old.length; place += 2) {
      if (old[place + 1] < 0) continue;
      const next = seekFree(old[place]);
      if (next < 0) return void (texts = useTexts(bytes, old));
      places[next] = old[place];
      places[next + 1] = old[place + 1];
    }
  }

  /** The same for a key that is known to be new. */
  function seekFree(hash: number): number {
    const mask = places.length - 1;
    let place = (hash << 1) & mask;
    for (let probe = 0; probe < maxProbes; probe++) {
      if (places[place + 1] < 0) return place;
      place = (place + 2) & mask;
    }
    return -1;
  }

  return {
    clear() {
      if (places.length > 2 * FIRST_PLACES) places = new Int32Array(2 * FIRST_PLACES);
      if (size > 0) places.fill(-1);
      size = 0;
      texts = null;
    },
    add(bytes, start, end) {
      const hash = hashString(bytes, start, end, SEED);
      if (hash === undefined) return "broken";
      if (texts !== null) return addText(texts, readText(bytes, start, end));
      const place = seek(bytes, start, hash);
      if (place < 0) {
        texts = useTexts(bytes, places);
        return addText(texts, readText(bytes, start, end));
      }
      if (places[place + 1] >= 0) return "twice";
      places[place] = hash;
      places[place + 1] = start;
      if (++size * 4 > places.length) grow(bytes);
      return "new";
    },
  };
}

function addText(set: Set<string>, text: string): Added {
  const before = set.size;
  set.add(text);
  return set.size > before ? "new" : "twice";
}

/** The texts of all keys in a table. */
function useTexts(bytes: Buffer, places: Int32Array): Set<string> {
  const set = new Set<string>();
  for (let place = 0; place < places.length; place += 2) {
    const start = places[place + 1];
    if (start >= 0) set.add(readText(bytes, start, endOfKey(bytes, start)));
  }
  return set;
}

function endOfKey(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}
