import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  CR,
  LF,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  TAB,
} from "./characters.ts";
import type { Span } from "./envelope.ts";
import { isSpelled } from "./spelling.ts";
import { endOfString, viewWords } from "./strings.ts";
import { readText } from "./text.ts";

// All functions here rely on bytes that the scanner has validated.

/** Calls `visit` for each member of the object at `span`, with its decoded key, its value and where it begins. */
export function eachMember(bytes: Buffer, span: Span, visit: (key: string, value: Span, begins: number) => void): void {
  let at = skipSpace(bytes, span.start + 1);
  while (bytes[at] !== CLOSE_OBJECT) {
    const keyEnd = afterString(bytes, at);
    const key = readText(bytes, at + 1, keyEnd - 1);
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = endOfValue(bytes, start);
    visit(key, { start, end }, at);
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
}

/**
 * Calls `visit` for each member of the object at `span` until it returns false, with the span of its key, without the
 * quotes, and of its value. Keys are not decoded, so this is the cheap way to look for a few keys among many.
 */
export function eachKey(
  bytes: Buffer,
  span: Span,
  visit: (keyStart: number, keyEnd: number, start: number, end: number) => boolean,
): void {
  let at = skipSpace(bytes, span.start + 1);
  while (bytes[at] !== CLOSE_OBJECT) {
    const keyEnd = afterString(bytes, at);
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = endOfValue(bytes, start);
    if (!visit(at + 1, keyEnd - 1, start, end)) return;
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
}

/** The value of the member with this key. Null if there is none, or if the value at `span` is not an object. */
export function findMember(bytes: Buffer, span: Span, key: string): Span | null {
  if (bytes[span.start] !== OPEN_OBJECT) return null;
  let at = skipSpace(bytes, span.start + 1);
  while (bytes[at] !== CLOSE_OBJECT) {
    const keyEnd = afterString(bytes, at);
    const isIt = isSpelled(bytes, at + 1, keyEnd - 1, key);
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = endOfValue(bytes, start);
    // The first match is the only one: the scanner has refused duplicate keys.
    if (isIt) return { start, end };
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return null;
}

/** Calls `visit` with the span of each element of the array at `span`, until it returns false. */
export function eachElement(bytes: Buffer, span: Span, visit: (start: number, end: number) => boolean): void {
  let at = skipSpace(bytes, span.start + 1);
  while (bytes[at] !== CLOSE_ARRAY) {
    const end = endOfValue(bytes, at);
    if (!visit(at, end)) return;
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
}

/** The spans of the elements of the array at `span`. */
export function listElements(bytes: Buffer, span: Span): Span[] {
  const elements: Span[] = [];
  eachElement(bytes, span, (start, end) => elements.push({ start, end }) > 0);
  return elements;
}

/** The text of the string at `span`, or null if the value is not a string. */
export function readString(bytes: Buffer, span: Span | null): string | null {
  if (span === null || bytes[span.start] !== QUOTE) return null;
  return readText(bytes, span.start + 1, span.end - 1);
}

/** The offset after the value that begins at `at`. */
export function endOfValue(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === QUOTE) return afterString(bytes, at);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) {
    while (at < bytes.length && !endsScalar(bytes[at])) at++;
    return at;
  }
  let depth = 0;
  for (;;) {
    let turn = TURNS[bytes[at]];
    while (turn === 0) turn = TURNS[bytes[++at]];
    if (turn === STRING) at = afterString(bytes, at);
    else {
      at++;
      depth += turn;
      if (depth === 0) return at;
    }
  }
}

/** How a byte outside strings changes the depth. A quote is marked as STRING; most bytes are 0. */
const TURNS = new Int8Array(256);
const STRING = 2;
TURNS[OPEN_OBJECT] = TURNS[OPEN_ARRAY] = 1;
TURNS[CLOSE_OBJECT] = TURNS[CLOSE_ARRAY] = -1;
TURNS[QUOTE] = STRING;

/** The offset after the string that begins at `at`. */
export function afterString(bytes: Buffer, at: number): number {
  const long = ++at + 24;
  for (let byte = bytes[at]; byte !== QUOTE; byte = bytes[at]) {
    at += byte === BACKSLASH ? 2 : 1;
    if (at >= long) return endOfString(bytes, viewWords(bytes), at, bytes.length) + 1;
  }
  return at + 1;
}

function endsScalar(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || isSpace(byte);
}

/** The first offset at or after `at` that is not whitespace. */
export function skipSpace(bytes: Buffer, at: number): number {
  while (isSpace(bytes[at])) at++;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === TAB || byte === LF || byte === CR;
}
