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
} from "../../message/characters.ts";
import { endOfString, viewWords } from "../../message/strings.ts";

// Everything here steps over bytes that the scanner has found valid, and relies on it.

/** Behind the value that begins here. */
export function skipValue(bytes: Buffer, at: number): number {
  const first = bytes[at];
  if (first === QUOTE) return skipString(bytes, at);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) {
    while (at < bytes.length && !endsScalar(bytes[at])) at++;
    return at;
  }
  let depth = 0;
  for (;;) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = skipString(bytes, at);
      continue;
    }
    at++;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) return at;
  }
}

/** Behind the string that begins here. */
export function skipString(bytes: Buffer, at: number): number {
  const long = ++at + 24;
  for (let byte = bytes[at]; byte !== QUOTE; byte = bytes[at]) {
    at += byte === BACKSLASH ? 2 : 1;
    if (at >= long) return endOfString(bytes, viewWords(bytes), at, bytes.length) + 1;
  }
  return at + 1;
}

/** The first place at or after this one that is not whitespace. */
export function skipSpace(bytes: Buffer, at: number): number {
  while (isSpace(bytes[at])) at++;
  return at;
}

function endsScalar(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || isSpace(byte);
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === TAB || byte === LF || byte === CR;
}
