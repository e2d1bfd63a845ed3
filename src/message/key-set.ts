import { randomBytes } from "node:crypto";
import { readText } from "./text.ts";

/**
 * The keys of one object with many keys, to find one that comes twice. Keys are compared by their
 * bytes; from the first escaped one on, by their text. What a sender cannot know is mixed in, so
 * that nobody can choose keys that all fall into one place.
 */
export interface KeySet {
  /** Adds a key that stands between two places; its text is given where it is escaped. False when it is there already. */
  add(bytes: Buffer, start: number, end: number, text: string | null): boolean;
}

/** The same for few keys with an escaped one among them, to be used again. */
export interface TextSet extends KeySet {
  clear(): void;
}

/** So few texts are compared one by one. */
const MAX_FEW = 32;

/** Makes an empty set that keeps texts, and takes no room worth speaking of. */
export function createTextSet(): TextSet {
  let few: string[] = [];
  let many: Set<string> | null = null;

  return {
    clear() {
      few = [];
      many = null;
    },
    add(bytes, start, end, text) {
      const key = text ?? readText(bytes, start, end);
      if (many === null) {
        if (few.includes(key)) return false;
        if (few.length < MAX_FEW) return few.push(key) > 0;
        many = new Set(few);
      }
      const before = many.size;
      many.add(key);
      return many.size > before;
    },
  };
}

const SEED = randomBytes(4).readInt32LE(0) | 1;
/** So many places in a row that are taken are no accident. */
const MAX_PROBES = 64;

/** Makes an empty set. */
export function createKeySet(): KeySet {
  let places = new Int32Array(128).fill(-1); // where a key starts
  let ends = new Int32Array(128);
  let size = 0;
  let texts: Set<string> | null = null;

  function grow(bytes: Buffer): void {
    const [oldPlaces, oldEnds] = [places, ends];
    places = new Int32Array(oldPlaces.length * 4).fill(-1);
    ends = new Int32Array(oldPlaces.length * 4);
    for (let index = 0; index < oldPlaces.length; index++) {
      if (oldPlaces[index] >= 0) insert(bytes, oldPlaces[index], oldEnds[index]);
    }
  }

  /** 1 when the key is new, 0 when it is there, -1 when there is no place for it near its own. */
  function insert(bytes: Buffer, start: number, end: number): number {
    const mask = places.length - 1;
    const length = end - start;
    let place = hash(bytes, start, end) & mask;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const other = places[place];
      if (other < 0) {
        places[place] = start;
        ends[place] = end;
        return 1;
      }
      if (ends[place] - other === length) {
        let same = 0;
        while (same < length && bytes[other + same] === bytes[start + same]) same++;
        if (same === length) return 0;
      }
      place = (place + 1) & mask;
    }
    return -1;
  }

  /** Goes over to text, which the engine keeps apart by a secret of its own. */
  function useTexts(bytes: Buffer): Set<string> {
    const set = new Set<string>();
    places.forEach((start, index) => {
      if (start >= 0) set.add(readText(bytes, start, ends[index]));
    });
    places = new Int32Array(0);
    ends = new Int32Array(0);
    return set;
  }

  return {
    add(bytes, start, end, text) {
      if (texts === null && text === null) {
        if (size * 2 >= places.length) grow(bytes);
        const found = insert(bytes, start, end);
        if (found >= 0) {
          size += found;
          return found === 1;
        }
      }
      texts ??= useTexts(bytes);
      const before = texts.size;
      texts.add(text ?? readText(bytes, start, end));
      return texts.size > before;
    },
  };
}

function hash(bytes: Buffer, start: number, end: number): number {
  let value = SEED;
  for (let at = start; at < end; at++) {
    value = Math.imul(value ^ bytes[at], 0x5bd1e995);
    value ^= value >>> 15;
  }
  return value ^ (value >>> 13);
}
