import { type Added, createKeySet, type KeySet } from "./key-set.ts";
import { MAX_COUNT } from "./shapes.ts";

/** Nesting deeper than this is refused: other parsers give up somewhere above it. */
export const MAX_DEPTH = 128;

/** So many keys of an object are compared one by one. */
const MAX_COMPARED = 24;

// The keys of all objects that are open, innermost last. Small objects are compared key by key; an object with many
// keys, or with an escaped one, is given a set of its keys instead. The sets are made once for each level: an object with
// one escaped key may come a million times.
const FIRST_ROOM = 8192;
let keyStart = new Int32Array(FIRST_ROOM);
let keyLength = new Int32Array(FIRST_ROOM);
const inUse: (KeySet | null)[] = Array.from({ length: MAX_DEPTH + 2 }, () => null);
const sets: (KeySet | undefined)[] = Array.from({ length: MAX_DEPTH + 2 });
let usesSets = false;
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
  inUse[depth] = null;
}

/** Whether the key that was added last, to the object that is open at this depth, had to be looked for in a set. */
export function isInSet(depth: number): boolean {
  return inUse[depth] !== null;
}

/** Keeps a key as number `nth` of all, and compares it with those of its object, which are kept from number `first` on. */
export function addKey(
  bytes: Buffer,
  depth: number,
  first: number,
  nth: number,
  start: number,
  end: number,
  isEscaped: boolean,
): Added {
  if (nth + SPARE >= keyStart.length) grow();
  const length = end - start;
  keepKey(nth, start, length);
  if (isEscaped || inUse[depth] !== null || nth - first >= MAX_COMPARED)
    return addToSet(bytes, depth, first, nth, start, end);
  return isAmong(bytes, first, nth, start, length) ? "twice" : "new";
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

/** Adds a key to the set of its object's keys, with those before it where it is the first to need one. */
function addToSet(bytes: Buffer, depth: number, first: number, nth: number, start: number, end: number): Added {
  let set = inUse[depth];
  if (set === null) {
    inUse[depth] = set = sets[depth] ??= createKeySet();
    usesSets = true;
    set.clear();
    for (let other = first; other < nth; other++) {
      set.add(bytes, keyStart[other], keyStart[other] + keyLength[other]);
    }
  }
  return set.add(bytes, start, end);
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
  if (usesSets) for (const set of sets) set?.clear(); // they would keep tables of megabytes
  usesSets = false;
  if (keyStart.length <= MAX_KEPT_KEYS) return;
  keyStart = new Int32Array(FIRST_ROOM);
  keyLength = new Int32Array(FIRST_ROOM);
}
