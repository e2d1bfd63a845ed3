import { MINUS, NINE, QUOTE, ZERO } from "./characters.ts";
import { readText } from "./text.ts";

/**
 * The id of a request or answer. `key` is what peers look it up by: clients take `"7"` and `0x7`
 * for 7, so those share a key. `quoted` is the JSON text of a string as it came, byte for byte (as
 * latin1); null for an integer, which can be spelled in one way only.
 */
export interface Id {
  readonly key: number | string;
  readonly quoted: string | null;
}

/** The JSON text of an id as it came, as latin1. */
export function spell({ key, quoted }: Id): string {
  return quoted ?? String(key);
}

/** Longer ids are refused: every open call keeps its id. */
export const MAX_ID_BYTES = 1024;

/** The id whose JSON text stands between two places; undefined when it is no string or plain integer. */
export function readId(bytes: Buffer, start: number, end: number): Id | undefined {
  const first = bytes[start];
  if (end - start > MAX_ID_BYTES) return undefined;
  if (first === QUOTE) {
    const text = readText(bytes, start + 1, end - 1);
    if (!text.isWellFormed()) return undefined;
    return { key: keyOfText(text), quoted: bytes.toString("latin1", start, end) };
  }
  const negative = first === MINUS;
  let at = negative ? start + 1 : start;
  let value = 0;
  if (at >= end || end - at > 16) return undefined;
  for (; at < end; at++) {
    const digit = bytes[at];
    if (digit < ZERO || digit > NINE) return undefined;
    value = value * 10 + (digit - ZERO);
  }
  if (!Number.isSafeInteger(value) || (negative && value === 0)) return undefined;
  return { key: negative ? -value : value, quoted: null };
}

/** Whether an answer's id is the request's own: the same value, or the decimal text of the same integer. */
export function isSameId(one: Id, other: Id): boolean {
  if (one.quoted === other.quoted) return one.key === other.key;
  return plainForm(one) === plainForm(other);
}

/**
 * The number a loose peer would read in something that is no proper id (`7.0`, `7e0`, `true`), to
 * find out whose answer it was meant to be.
 */
export function guessKey(bytes: Buffer, start: number, end: number): number | string | undefined {
  if (end - start > MAX_ID_BYTES) return undefined;
  const value: unknown = JSON.parse(bytes.toString("utf8", start, end));
  if (typeof value === "string") return keyOfText(value);
  const number = Number(value);
  return value !== null && typeof value !== "object" && Number.isSafeInteger(number) ? number : undefined;
}

function keyOfText(text: string): number | string {
  // Number() takes the empty text for 0 and ignores space around a number; so do clients that call it.
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

function plainForm({ key, quoted }: Id): string {
  return quoted === null ? String(key) : JSON.parse(Buffer.from(quoted, "latin1").toString("utf8"));
}
