import { BACKSLASH } from "../message/characters.ts";
import { hashString, isSpelled } from "../message/spelling.ts";

/**
 * One step of a path into a message. Paths with the same beginning share their first steps, so that a value used by
 * several rules is looked up once.
 */
export interface FieldStep {
  /** The step before it; null for the root, which is the whole part. */
  readonly from: FieldStep | null;
  readonly step: string | number;
  /** The step as an object key, and that key in UTF-8. */
  readonly key: string;
  readonly bytes: Buffer;
  /** Its index among all steps of its table. The root has index 0. */
  readonly index: number;
  /** The steps that follow it. */
  readonly next: FieldStep[];
  /** The following steps by the hash of their keys; built when first needed. */
  byHash: Map<number, FieldStep[]> | null;
}

/** Whether the bytes between two offsets spell the key of a step, with or without escapes. */
export function isKey(bytes: Buffer, start: number, end: number, { bytes: wanted, key }: FieldStep): boolean {
  const { length } = wanted;
  // An escape is longer than the character it encodes.
  if (end - start < length) return false;
  let same = 0;
  while (same < length && bytes[start + same] === wanted[same] && wanted[same] !== BACKSLASH) same++;
  if (same === length && end - start === length) return true;
  // At the first difference, the message has either an escape or another key. A backslash in a key is always escaped.
  return bytes[start + same] === BACKSLASH && isSpelled(bytes, start, end, key);
}

/** Steps by the hash of their keys, computed as for a key in a message, with seed 0. */
export function indexByHash(steps: readonly FieldStep[]): Map<number, FieldStep[]> {
  const index = new Map<number, FieldStep[]>();
  for (const step of steps) {
    const bytes = Buffer.from(JSON.stringify(step.key));
    const hash = hashString(bytes, 1, bytes.length - 1, 0);
    if (hash === undefined) continue; // no valid message has such a key
    const others = index.get(hash);
    if (others === undefined) index.set(hash, [step]);
    else others.push(step);
  }
  return index;
}
