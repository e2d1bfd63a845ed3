/** Bytes that end the plain run of a JSON string: control characters, the quote, the backslash. */
export const ENDS_RUN = new Uint8Array(256);
for (let byte = 0; byte < 0x20; byte++) ENDS_RUN[byte] = 1;
ENDS_RUN[0x22] = 1;
ENDS_RUN[0x5c] = 1;

/** What may follow a backslash: 1 for the short escapes, 2 for `u`. */
export const ESCAPE = new Uint8Array(256);
for (const letter of '"\\/bfnrt') ESCAPE[letter.charCodeAt(0)] = 1;
ESCAPE["u".charCodeAt(0)] = 2;

/** Hexadecimal digits. */
export const HEX = new Uint8Array(256);
for (const digit of "0123456789abcdefABCDEF") HEX[digit.charCodeAt(0)] = 1;

/** The bytes the grammar of JSON is made of, by name. */
export const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const ZERO = 0x30;
export const NINE = 0x39;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/**
 * The first place at or after `at` where the plain run of a string ends, or `end`.
 * Four bytes are looked at in one step; worth its set-up on runs of more than a few dozen bytes.
 */
export function endOfRun(bytes: Buffer, at: number, end: number): number {
  while (((bytes.byteOffset + at) & 3) !== 0) {
    if (at >= end || ENDS_RUN[bytes[at]] !== 0) return at;
    at++;
  }
  if (at >= end) return at;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (end - at) >> 2);
  const count = words.length;
  let index = 0;
  for (; index < count; index++) {
    const word = words[index];
    const quote = word ^ 0x22222222;
    const backslash = word ^ 0x5c5c5c5c;
    // The classic tests for "some byte is less than n" and "some byte is zero". Bytes of
    // multi-byte characters have their high bit set and are masked out by the complement.
    const below = (word - 0x20202020) & ~word;
    const isQuote = (quote - 0x01010101) & ~quote;
    const isBackslash = (backslash - 0x01010101) & ~backslash;
    if (((below | isQuote | isBackslash) & 0x80808080) !== 0) break;
  }
  at += index << 2;
  while (at < end && ENDS_RUN[bytes[at]] === 0) at++;
  return at;
}
