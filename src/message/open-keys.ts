import { createKeySet, createTextSet, type KeySet, type TextSet } from "./key-set.ts";
import { MAX_COUNT } from "./shapes.ts";

/** Nesting deeper than this is refused: other parsers give up somewhere above it. */
export const MAX_DEPTH = 128;

/** So many keys of an object are compared one by one. */
const MAX_COMPARED = 24;

// The keys of all objects that are open, innermost last. Small objects are compared key by key; an object
// with many keys, or with an escaped one, is given a set of its keys instead. The sets for few keys
// are made once for each level: an object with one escaped key may come a million times.
const FIRST_ROOM = 8192;
let keyStart = new Int32Array(FIRST_ROOM);
let keyLength = new Int32Array(FIRST_ROOM);
const wide: (KeySet | null)[] = Array.from({ length: MAX_DEPTH + 2 }, () => null);
const few: (TextSet | undefined)[] = Array.from({ length: MAX_DEPTH + 2 });
let usesFew = false;
const MAX_KEPT_KEYS = 65_536;

// There is always room for the keys that were learnt of all objects that can be open.
const SPARE = MAX_DEPTH * MAX_COUNT;

/** Keeps a key as number `nth` of all, because a later one will be compared with it. Not more than MAX_COUNT for each object. */
export function keepKey(nth: number, start: number, length: number): void {
  keyStart[nth] = start;
  keyLength[nth] = length;
}

/** To be called before the first key is added to the object that is open at this depth. */
export function beginComparing(depth: number): void {
  wide[depth] = null;
}

/**
 * Keeps a key as number `nth` of all, and compares it with those of its object, which are kept from number `first` on.
 * Its text is given where it is escaped. False when the object has it already.
 */
export function addKey(
  bytes: Buffer,
  depth: number,
  first: number,
  nth: number,
  start: number,
  end: number,
  text: string | null,
): boolean {
  if (nth + SPARE >= keyStart.length) grow();
  const isNew =
    text !== null || wide[depth] !== null || nth - first >= MAX_COMPARED
      ? addToSet(bytes, depth, first, nth, start, end, text)
      : !isAmong(bytes, first, nth, start, end - start);
  keepKey(nth, start, end - start);
  return isNew;
}

function isAmong(bytes: Buffer, first: number, nth: number, start: number, length: number): boolean {
  for (let other = first; other < nth; other++) {
    if (keyLength[other] !== length) continue;
    const from = keyStart[other];
    let same = 0;
    while (same < length && bytes[from + same] === bytes[start + same]) same++;
    if (same === length) return true;
  }
  return false;
}

function addToSet(
  bytes: Buffer,
  depth: number,
  first: number,
  nth: number,
  start: number,
  end: number,
  text: string | null,
): boolean {
  let set = wide[depth];
  if (set === null) {
    wide[depth] = set = nth - first < MAX_COMPARED ? takeFew(depth) : createKeySet();
    for (let other = first; other < nth; other++) {
      set.add(bytes, keyStart[other], keyStart[other] + keyLength[other], null);
    }
  }
  return set.add(bytes, start, end, text);
}

function takeFew(depth: number): KeySet {
  const set = (few[depth] ??= createTextSet());
  set.clear();
  usesFew = true;
  return set;
}

function grow(): void {
  const starts = new Int32Array(keyStart.length * 2);
  const lengths = new Int32Array(keyLength.length * 2);
  starts.set(keyStart);
  lengths.set(keyLength);
  keyStart = starts;
  keyLength = lengths;
}

/** To be called when a message has been read. */
export function forgetKeys(): void {
  if (usesFew) for (const set of few) set?.clear(); // they would keep keys of megabytes
  usesFew = false;
  if (keyStart.length <= MAX_KEPT_KEYS) return;
  keyStart = new Int32Array(FIRST_ROOM);
  keyLength = new Int32Array(FIRST_ROOM);
}
