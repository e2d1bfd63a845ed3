import { BACKSLASH } from "../../message/characters.ts";
import { hashString, isSpelled } from "../../message/spelling.ts";
import type { FieldStep } from "./fields.ts";

/** Whether a key stands between two places, by its bytes or spelled with escapes. */
export function isKey(bytes: Buffer, start: number, end: number, { bytes: wanted, key }: FieldStep): boolean {
  const { length } = wanted;
  // An escape is longer than what it stands for.
  if (end - start < length) return false;
  let same = 0;
  while (same < length && bytes[start + same] === wanted[same] && wanted[same] !== BACKSLASH) same++;
  if (same === length && end - start === length) return true;
  // Where they part, the message has an escape or another key. A backslash in a key is always escaped.
  return bytes[start + same] === BACKSLASH && isSpelled(bytes, start, end, key);
}

/** Steps by the hash of their keys, as it is in a message: with seed zero. */
export function indexByHash(steps: readonly FieldStep[]): Map<number, FieldStep[]> {
  const index = new Map<number, FieldStep[]>();
  for (const step of steps) {
    const bytes = Buffer.from(JSON.stringify(step.key));
    const hash = hashString(bytes, 1, bytes.length - 1, 0);
    if (hash === undefined) continue; // no message has such a key
    const others = index.get(hash);
    if (others === undefined) index.set(hash, [step]);
    else others.push(step);
  }
  return index;
}
