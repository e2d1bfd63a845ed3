import { type Added, createKeySet, type KeySet } from "./key-set.ts";
import { MAX_COUNT } from "./shapes.ts";

/** Deeper nesting is refused, because other parsers may fail on it. */
export const MAX_DEPTH = 128;

/** Up to this many keys of an object are compared one by one. */
const MAX_COMPARED = 24;

// The keys of all objects that are open, innermost last. In a small object keys are compared one by one; an object with
// many keys, or with an escaped one, gets a set of its keys instead. There is one set for each depth, which is reused,
// because a message can contain a million objects with an escaped key.
const FIRST_ROOM = 8192;
let keyStart = new Int32Array(FIRST_ROOM);
let keyLength = new Int32Array(FIRST_ROOM);
const inUse: (KeySet | null)[] = Array.from({ length: MAX_DEPTH + 2 }, () => null);
const sets: (KeySet | undefined)[] = Array.from({ length: MAX_DEPTH + 2 });
let usesSets = false;
const MAX_KEPT_KEYS = 65_536;

// Room for the keys that `keepKey` adds without a check: learnt keys, of all objects that can be open.
const SPARE = MAX_DEPTH * MAX_COUNT;

/** Keeps a key at index `nth`, so that later keys can be compared with it. At most MAX_COUNT calls for each object. */
export function keepKey(nth: number, start: number, length: number): void {
  keyStart[nth] = start;
  keyLength[nth] = length;
}

/** Must be called before the first `addKey` for the object that is open at this depth. */
export function beginComparing(depth: number): void {
  inUse[depth] = null;
}

/** Whether the last `addKey` for the object that is open at this depth had to use a set. */
export function isInSet(depth: number): boolean {
  return inUse[depth] !== null;
}

/** Keeps a key at index `nth` and compares it with the other keys of its object, which begin at index `first`. */
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

/** Adds a key to the set of its object. The first time, the keys before it are added, too. */
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

/** Must be called when a message has been read. */
export function forgetKeys(): void {
  if (usesSets) for (const set of sets) set?.clear(); // otherwise tables of megabytes would stay in memory
  usesSets = false;
  if (keyStart.length <= MAX_KEPT_KEYS) return;
  keyStart = new Int32Array(FIRST_ROOM);
  keyLength = new Int32Array(FIRST_ROOM);
}
