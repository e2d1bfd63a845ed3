import { BACKSLASH } from "../message/characters.ts";
import { hashString, isSpelled } from "../message/spelling.ts";

/**
 * One step of a way into a message. Ways that begin alike share their first steps, so that what
 * several rules look at is looked up once.
 */
export interface FieldStep {
  /** The step before it; null for the beginning, which is the whole. */
  readonly from: FieldStep | null;
  readonly step: string | number;
  /** The step as a key, and its bytes in UTF-8. */
  readonly key: string;
  readonly bytes: Buffer;
  /** Its number among all steps of its table. That of the beginning is zero. */
  readonly index: number;
  /** The steps that follow it. */
  readonly next: FieldStep[];
  /** The same by the hash of their keys, where that was needed. */
  byHash: Map<number, FieldStep[]> | null;
}

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
