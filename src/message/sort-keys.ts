import { randomBytes } from "node:crypto";
import { BACKSLASH, QUOTE } from "./characters.ts";
import { readText } from "./text.ts";

/**
 * Sorts the members of an object by the UTF-16 units of their keys, and returns their indices in that order. `places`
 * holds two offsets for each member, from `base` to `top`: where it begins, which is the opening quote of its key, and
 * where it ends. The keys must be canonical, without unnecessary escapes. The returned array is valid until the next
 * call.
 */
export function sortKeys(
  bytes: Buffer,
  places: Int32Array,
  base: number,
  top: number,
  onWork: (steps: number) => void,
): Int32Array {
  const count = (top - base) >> 1;
  const order = count <= small.length ? small : new Int32Array(count);
  let isPlain = true;
  for (let nth = 0; nth < count; nth++) {
    order[nth] = nth;
    isPlain &&= isInOrderOfBytes(bytes, places[base + 2 * nth] + 1);
  }
  const rounds = Math.ceil(Math.log2(count + 1));
  if (isPlain) {
    onWork(count * rounds);
    sortByBytes({ bytes, places, base, order }, 0, count, 1);
    return order;
  }
  onWork(6 * count * rounds);
  const texts = Array.from({ length: count }, (_, nth) => {
    const start = places[base + 2 * nth] + 1;
    return readText(bytes, start, endOfKey(bytes, start));
  });
  return order.subarray(0, count).sort((one, other) => (texts[one] < texts[other] ? -1 : 1));
}

const small = new Int32Array(64);

interface Keys {
  readonly bytes: Buffer;
  readonly places: Int32Array;
  readonly base: number;
  readonly order: Int32Array;
}

/** The byte at position `depth` of a member's key. The end of a key sorts before all bytes. */
function byteOf({ bytes, places, base }: Keys, nth: number, depth: number): number {
  const byte = bytes[places[base + 2 * nth] + depth];
  return byte === QUOTE ? -1 : byte;
}

/** Whether the bytes of a key sort like its UTF-16 units: not if it has an escape, or a character above U+FFFF. */
function isInOrderOfBytes(bytes: Buffer, start: number): boolean {
  for (let at = start; bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH || bytes[at] >= 0xf0) return false;
  return true;
}

function endOfKey(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/**
 * Multikey quicksort (Bentley and Sedgewick, 1997): keys are compared byte by byte, and bytes that some keys share are
 * not compared again among them. No two keys are equal.
 */
function sortByBytes(keys: Keys, first: number, last: number, depth: number): void {
  const { order } = keys;
  let [from, to, at] = [first, last, depth];
  while (to - from > FEW) {
    const { less, more } = partition(keys, from, to, at);
    // The loop continues with the largest of the three parts. Each other part has at most half of the keys, so the
    // recursion stays shallow.
    const parts = [
      { from, to: less, at },
      // These keys are equal up to here and differ later. If the key ends here, it is the only one in this part.
      { from: less, to: more, at: at + 1 },
      { from: more, to, at },
    ].sort((one, other) => one.to - one.from - (other.to - other.from));
    for (const part of parts.slice(0, 2)) sortByBytes(keys, part.from, part.to, part.at);
    ({ from, to, at } = parts[2]);
  }
  for (let next = from + 1; next < to; next++) {
    const nth = order[next];
    let place = next;
    for (; place > from && comesBefore(keys, nth, order[place - 1], at); place--) order[place] = order[place - 1];
    order[place] = nth;
  }
}

/** Up to this many keys are sorted by insertion. */
const FEW = 12;

/** Moves keys with a lower byte than the pivot to the front and keys with a higher byte to the back. */
function partition(keys: Keys, from: number, to: number, depth: number): { less: number; more: number } {
  const { order } = keys;
  // Security: the pivot is random. A sender who could predict it could choose keys that take very long to sort.
  random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
  const pivot = byteOf(keys, order[from + (random % (to - from))], depth);
  let less = from;
  let more = to;
  for (let at = from; at < more;) {
    const nth = order[at];
    const byte = byteOf(keys, nth, depth);
    if (byte < pivot) {
      order[at++] = order[less];
      order[less++] = nth;
    } else if (byte > pivot) {
      order[at] = order[--more];
      order[more] = nth;
    } else at++;
  }
  return { less, more };
}

let random = randomBytes(4).readUInt32LE(0);

function comesBefore(keys: Keys, one: number, other: number, depth: number): boolean {
  for (let at = depth; ; at++) {
    const byte = byteOf(keys, one, at);
    const difference = byte - byteOf(keys, other, at);
    // Both end only if a key is a duplicate, and the scanner refuses such a message.
    if (difference !== 0 || byte < 0) return difference < 0;
  }
}
