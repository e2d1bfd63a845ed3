import { MINUS, NINE, QUOTE, ZERO } from "./characters.ts";
import { readText } from "./text.ts";

/**
 * The id of a request or response. `key` is what peers look it up by: clients read `"7"` and `"0x7"` as 7, so those
 * share a key. `quoted` is the JSON text of a string id as it was received, byte for byte (as latin1). It is null for
 * an integer, which can be spelled in one way only.
 */
export interface Id {
  readonly key: number | string;
  readonly quoted: string | null;
}

/** The JSON text of an id as it was received, as latin1. */
export function spell({ key, quoted }: Id): string {
  return quoted ?? String(key);
}

/** Longer ids are refused, because every open call keeps its id. */
export const MAX_ID_BYTES = 1024;

/** Reads the id at a span; undefined if it is not a string or a plain integer. */
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

/** Whether the id of a response is that of the request: the same value, or the decimal text of the same integer. */
export function isSameId(one: Id, other: Id): boolean {
  if (one.quoted === other.quoted) return one.key === other.key;
  return plainForm(one) === plainForm(other);
}

/**
 * The key that a lenient peer would read from an invalid id (`7.0`, `7e0`, `true`), to find out which request a
 * response was meant for.
 */
export function guessKey(bytes: Buffer, start: number, end: number): number | string | undefined {
  if (end - start > MAX_ID_BYTES) return undefined;
  const value: unknown = JSON.parse(bytes.toString("utf8", start, end));
  if (typeof value === "string") return keyOfText(value);
  const number = Number(value);
  return value !== null && typeof value !== "object" && Number.isSafeInteger(number) ? number : undefined;
}

function keyOfText(text: string): number | string {
  // Number() reads an empty text as 0 and ignores whitespace around a number, and so do clients that call it.
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

function plainForm({ key, quoted }: Id): string {
  return quoted === null ? String(key) : JSON.parse(Buffer.from(quoted, "latin1").toString("utf8"));
}
