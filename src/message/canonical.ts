import { canonicalNumber } from "./canonical-number.ts";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  NINE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  ZERO,
} from "./characters.ts";
import type { Span } from "./envelope.ts";
import { afterString, endOfValue, skipSpace } from "./members.ts";
import { createCanonicalWriter } from "./canonical-writer.ts";
import { compareStrings, isSpelled } from "./spelling.ts";

/** How the canonical text of a value is written. */
export interface CanonicalOptions {
  /** Keys to leave out, at the top level of the value only. */
  readonly without?: readonly string[];
  /**
   * `exact` writes all spellings of a number as one text, by its exact value and not by the nearest double.
   * `spelled` leaves numbers as they are.
   */
  readonly numbers?: "exact" | "spelled";
  /** Called before work beyond the one pass over the bytes, with its cost in steps of about 10 ns. It may throw. */
  readonly onWork?: (steps: number) => void;
}

/**
 * The canonical text of a value, however it was spelled: no whitespace, sorted keys, one form for strings (RFC 8785,
 * except for numbers). The bytes must have been validated; they are read in one pass at any depth.
 */
export function canonicalBytes(bytes: Buffer, span: Span, options: CanonicalOptions = {}): Buffer {
  const { without = NONE, numbers = "exact", onWork = NOBODY } = options;
  const writer = createCanonicalWriter(bytes, span.end - span.start, onWork);
  const isExact = numbers === "exact";
  // Output offsets of all members of the objects that are open: where each member begins and ends.
  let places = new Int32Array(64);
  let top = 0;

  function push(place: number): void {
    if (top === places.length) {
      const more = new Int32Array(2 * top);
      more.set(places);
      places = more;
    }
    places[top++] = place;
  }

  function writeValue(at: number): number {
    switch (bytes[at]) {
      case QUOTE:
        return writeString(at);
      case OPEN_ARRAY:
        return writeArray(at);
      case OPEN_OBJECT:
        return writeObject(at, NONE);
      default: {
        const end = endOfValue(bytes, at);
        const isPlain = !isExact || bytes[at] > NINE || isPlainInteger(bytes, at, end);
        if (isPlain) writer.copy(at, end);
        else writer.text(canonicalNumber(bytes.toString("latin1", at, end)));
        return end;
      }
    }
  }

  function writeString(at: number): number {
    const end = afterString(bytes, at);
    if (isUnescaped(bytes, at + 1, end - 1)) writer.copy(at, end);
    else writer.string(at + 1, end - 1);
    return end;
  }

  function writeArray(start: number): number {
    writer.copy(start, start + 1);
    let at = skipSpace(bytes, start + 1);
    while (bytes[at] !== CLOSE_ARRAY) {
      at = skipSpace(bytes, writeValue(at));
      if (bytes[at] !== COMMA) continue;
      writer.copy(at, at + 1);
      at = skipSpace(bytes, at + 1);
    }
    writer.copy(at, at + 1);
    return at + 1;
  }

  function writeObject(start: number, left: readonly string[]): number {
    writer.copy(start, start + 1);
    const base = top;
    let isSorted = true;
    let before = -1; // where the previous key begins
    for (let at = skipSpace(bytes, start + 1); ;) {
      if (bytes[at] === CLOSE_OBJECT) {
        if (!isSorted) writer.reorder(places, base, top);
        top = base;
        writer.copy(at, at + 1);
        return at + 1;
      }
      const keyEnd = afterString(bytes, at);
      const colon = skipSpace(bytes, keyEnd);
      const begins = skipSpace(bytes, colon + 1);
      let end: number;
      if (left.some((key) => isSpelled(bytes, at + 1, keyEnd - 1, key))) end = endOfValue(bytes, begins);
      else {
        if (before >= 0) writer.byte(COMMA);
        isSorted &&= before < 0 || compareStrings(bytes, before + 1, at + 1) <= 0;
        before = at;
        push(writer.position());
        writeString(at);
        writer.copy(colon, colon + 1);
        end = writeValue(begins);
        push(writer.position());
      }
      at = skipSpace(bytes, end);
      if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
    }
  }

  if (bytes[span.start] === OPEN_OBJECT) writeObject(span.start, without);
  else writeValue(span.start);
  return writer.end();
}

/** Like `canonicalBytes`, as text. */
export function canonicalText(bytes: Buffer, span: Span, without: readonly string[] = NONE): string {
  return canonicalBytes(bytes, span, { without }).toString("utf8");
}

const NONE: readonly string[] = [];
const NOBODY = (): void => {};

function isUnescaped(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > 64) return !bytes.subarray(start, end).includes(BACKSLASH);
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return false;
  return true;
}

/** Whether a number is an integer that is canonical already. */
function isPlainInteger(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[start] === ZERO) return end === start + 1;
  if (end - start > MAX_PLAIN_DIGITS) return false;
  for (let at = start; at < end; at++) if (bytes[at] < ZERO || bytes[at] > NINE) return false;
  return true;
}

const MAX_PLAIN_DIGITS = 20;
