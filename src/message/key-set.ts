import { randomBytes } from "node:crypto";
import { BACKSLASH, QUOTE } from "./characters.ts";
import { hashString, isSameString } from "./spelling.ts";
import { readText } from "./text.ts";

/**
 * The keys of one object, to find a duplicate key, however it is spelled. A key is kept as an offset and a hash and is
 * not decoded.
 */
export interface KeySet {
  /** Adds the key at a span. */
  add(bytes: Buffer, start: number, end: number): Added;
  /** Removes all keys. */
  clear(): void;
}

/** Whether a key is new, is a duplicate (`twice`), or contains a lone surrogate (`broken`). */
export type Added = "new" | "twice" | "broken";

// Security: with a known seed, a sender could choose keys whose hashes all collide.
const SEED = randomBytes(4).readInt32LE(0) | 1;

/** More occupied places in a row than this do not happen by chance: the keys were chosen to collide. */
const MAX_PROBES = 256;

/** Initial number of places in the table, which is kept from one object to the next. */
const FIRST_PLACES = 64;

/** Makes an empty set. If `maxProbes` places in a row are occupied, it switches to a set of decoded texts. */
export function createKeySet(maxProbes = MAX_PROBES): KeySet {
  // Two numbers for each place: the hash of its key, and where the key starts, or -1. They are side by side because the
  // table of a large object does not fit into the processor's cache.
  let places = new Int32Array(2 * FIRST_PLACES).fill(-1);
  let size = 0;
  // Used instead of the table once too many keys collide. V8 hashes strings with a random seed of its own.
  let texts: Set<string> | null = null;

  /** The place of the key, or the free place for it; -1 if there is none within `maxProbes`. */
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

  /** Like `seek`, for a key that is known to be new. */
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

/** Decodes all keys in a table. */
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
