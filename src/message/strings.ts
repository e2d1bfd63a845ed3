import { BACKSLASH, ENDS_RUN, ESCAPE, HEX, QUOTE } from "./characters.ts";

/**
 * The memory of a buffer as words of four bytes, for `endOfString`. Creating it costs more than reading a short string.
 */
export function viewWords(bytes: Buffer): Int32Array {
  return new Int32Array(bytes.buffer, 0, bytes.buffer.byteLength >> 2);
}

/**
 * The offset of the quote that ends the string around `at`, or -1 if the bytes before it are not valid JSON. Four bytes
 * are checked in one step.
 */
export function endOfString(bytes: Buffer, words: Int32Array, at: number, end: number): number {
  const offset = bytes.byteOffset;
  const last = words.length - 1;
  for (;;) {
    // Escapes often follow each other closely, so the next few bytes are checked one by one.
    const near = at + 8;
    while (at < near && ENDS_RUN[bytes[at]] === 0) at++;
    if (at === near) {
      let index = (offset + at) >> 2;
      if (index < last) {
        let hits = marks(words[index]) & (-1 << (((offset + at) & 3) << 3));
        while (hits === 0 && ++index < last) {
          hits = marks(words[index]);
          if (hits !== 0) break;
          hits = marks(words[++index]);
        }
        at = (index << 2) - offset;
        if (hits !== 0) at += (31 - Math.clz32(hits & -hits)) >> 3;
      }
      // The mark may be a false positive (see `marks`), and a last incomplete word has not been checked.
      while (at < end && ENDS_RUN[bytes[at]] === 0) at++;
    }
    if (at >= end) return -1;
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte !== BACKSLASH) return -1;
    const kind = ESCAPE[bytes[at + 1]];
    if (kind === 1) at += 2;
    else if (kind === 2 && isHex(bytes, at + 2)) at += 6;
    else return -1;
  }
}

/** Whether four hexadecimal digits follow. */
export function isHex(bytes: Buffer, at: number): boolean {
  return (HEX[bytes[at]] & HEX[bytes[at + 1]] & HEX[bytes[at + 2]] & HEX[bytes[at + 3]]) === 1;
}

/**
 * Sets the high bit of each byte that ends a plain run, by the classic bit tests for "less than n" and "is zero". The
 * first mark is exact; a later one may be a false positive. Bytes of multi-byte characters have their high bit set, and
 * the complement masks them out.
 */
export function marks(word: number): number {
  const quote = word ^ 0x22222222;
  const backslash = word ^ 0x5c5c5c5c;
  const below = (word - 0x20202020) & ~word;
  const isQuote = (quote - 0x01010101) & ~quote;
  const isBackslash = (backslash - 0x01010101) & ~backslash;
  return (below | isQuote | isBackslash) & 0x80808080;
}
