import { BACKSLASH, QUOTE } from "./characters.ts";

// A JSON string can be spelled in many ways. These functions compare and hash strings by their decoded text, in the
// buffer and without decoding each into a string: a message of 10 MB can have a million keys with an escape in every
// one. The bytes must have been validated, at least up to the closing quote.

/** Whether the string at a span, without its quotes, decodes to this text. */
export function isSpelled(bytes: Buffer, start: number, end: number, text: string): boolean {
  const { length } = text;
  // Every UTF-16 unit of a text takes at least one byte.
  if (end - start < length) return false;
  let at = start;
  for (let nth = 0; nth < length; nth++) {
    const byte = bytes[at];
    if (at >= end) return false;
    if (byte >= 0x80) return isRest(bytes, at, text, nth);
    if (byte === BACKSLASH) {
      if (escapedUnit(bytes, at) !== text.charCodeAt(nth)) return false;
      at += bytes[at + 1] === U ? 6 : 2;
    } else if (byte === text.charCodeAt(nth)) at++;
    else return false;
  }
  return at === end;
}

/** Like `isSpelled`, for the rest of a string from its first non-ASCII character on. */
function isRest(bytes: Buffer, start: number, text: string, from: number): boolean {
  const reader = FIRST.begin(bytes, start);
  for (let nth = from; nth < text.length; nth++) if (reader.read() !== text.charCodeAt(nth)) return false;
  return reader.read() === END_OF_STRING;
}

/** Whether two strings decode to the same text. Each begins after its opening quote. */
export function isSameString(bytes: Buffer, one: number, other: number): boolean {
  for (;;) {
    const byte = bytes[one];
    if (byte === BACKSLASH || bytes[other] === BACKSLASH) break;
    if (byte !== bytes[other]) return false;
    if (byte === QUOTE) return true;
    one++;
    other++;
  }
  // Both offsets are at the start of a character: the bytes before are equal, and a backslash is never inside one.
  const first = FIRST.begin(bytes, one);
  const second = SECOND.begin(bytes, other);
  for (;;) {
    const unit = first.read();
    if (unit !== second.read()) return false;
    if (unit === END_OF_STRING) return true;
  }
}

/**
 * Compares two strings by the UTF-16 units of their texts, as RFC 8785 does: below zero if the first one comes first.
 * Each begins after its opening quote.
 */
export function compareStrings(bytes: Buffer, one: number, other: number): number {
  let same = 0;
  while (bytes[one + same] === bytes[other + same]) {
    const byte = bytes[one + same];
    if (byte === QUOTE) return 0;
    if (byte === BACKSLASH) break;
    same++;
  }
  const [left, right] = [bytes[one + same], bytes[other + same]];
  if (left !== BACKSLASH && right !== BACKSLASH && left < 0x80 && right < 0x80) {
    if (left === QUOTE) return -1;
    return right === QUOTE ? 1 : left - right;
  }
  // Go back to the start of the character in which they differ.
  if ((left & 0xc0) === 0x80 || (right & 0xc0) === 0x80) while (same > 0 && bytes[one + same - 1] >= 0x80) same--;
  const first = FIRST.begin(bytes, one + same);
  const second = SECOND.begin(bytes, other + same);
  for (;;) {
    const unit = first.read();
    const difference = unit - second.read();
    if (difference !== 0 || unit === END_OF_STRING) return difference;
  }
}

/**
 * Hashes a string by its decoded text: all spellings of a string have the same hash. `start` is after its opening
 * quote. Undefined if the string contains a lone surrogate, which has no UTF-8 encoding.
 */
export function hashString(bytes: Buffer, start: number, end: number, seed: number): number | undefined {
  let hash = seed;
  for (let at = start; at < end;) {
    const byte = bytes[at];
    if (byte === BACKSLASH) {
      const unit = escapedUnit(bytes, at);
      if (unit >= 0x80) return hashUnits(bytes, at, hash);
      hash = mix(hash, unit);
      at += bytes[at + 1] === U ? 6 : 2;
    } else {
      hash = mix(hash, byte);
      at++;
    }
  }
  return hash ^ (hash >>> 13);
}

/**
 * Like `hashString`, for the rest of a string from a non-ASCII escape on. Characters are hashed as their UTF-8 bytes.
 */
function hashUnits(bytes: Buffer, start: number, seed: number): number | undefined {
  let hash = seed;
  const reader = FIRST.begin(bytes, start);
  for (let unit = reader.read(); unit !== END_OF_STRING; unit = reader.read()) {
    if (unit < 0x80) hash = mix(hash, unit);
    else if (unit < 0x800) hash = mix(mix(hash, 0xc0 | (unit >> 6)), 0x80 | (unit & 0x3f));
    else if (unit < 0xd800 || unit > 0xdfff)
      hash = mix(mix(mix(hash, 0xe0 | (unit >> 12)), 0x80 | ((unit >> 6) & 0x3f)), 0x80 | (unit & 0x3f));
    else {
      const low = unit > 0xdbff ? END_OF_STRING : reader.read();
      if (low < 0xdc00 || low > 0xdfff) return undefined;
      const point = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
      hash = mix(mix(hash, 0xf0 | (point >> 18)), 0x80 | ((point >> 12) & 0x3f));
      hash = mix(mix(hash, 0x80 | ((point >> 6) & 0x3f)), 0x80 | (point & 0x3f));
    }
  }
  return hash ^ (hash >>> 13);
}

function mix(hash: number, byte: number): number {
  const mixed = Math.imul(hash ^ byte, 0x5bd1e995);
  return mixed ^ (mixed >>> 15);
}

/** What a reader returns at the closing quote. */
export const END_OF_STRING = -1;

/** Reads the UTF-16 units of a string one by one, up to its closing quote. */
export interface UnitReader {
  /** Starts to read another string, after its opening quote. */
  begin(bytes: Buffer, at: number): UnitReader;
  /** The next unit, or END_OF_STRING. */
  readonly read: () => number;
}

/** Makes a reader that can be reused: a new one for every comparison would cost more than the comparison. */
export function createUnitReader(): UnitReader {
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;
  let low = 0; // the low surrogate of a pair whose high surrogate has been read

  function readEscape(): number {
    const unit = escapedUnit(bytes, at);
    at += bytes[at + 1] === U ? 6 : 2;
    return unit;
  }

  function readWide(first: number): number {
    if (first < 0xe0) {
      at += 2;
      return ((first & 0x1f) << 6) | (bytes[at - 1] & 0x3f);
    }
    if (first < 0xf0) {
      at += 3;
      return ((first & 0x0f) << 12) | ((bytes[at - 2] & 0x3f) << 6) | (bytes[at - 1] & 0x3f);
    }
    at += 4;
    const tail = ((bytes[at - 3] & 0x3f) << 12) | ((bytes[at - 2] & 0x3f) << 6) | (bytes[at - 1] & 0x3f);
    const point = (((first & 0x07) << 18) | tail) - 0x10000;
    low = 0xdc00 | (point & 0x3ff);
    return 0xd800 | (point >> 10);
  }

  const reader: UnitReader = {
    begin(from, start) {
      bytes = from;
      at = start;
      low = 0;
      return reader;
    },
    read() {
      if (low !== 0) {
        const unit = low;
        low = 0;
        return unit;
      }
      const byte = bytes[at];
      if (byte === QUOTE) return END_OF_STRING;
      if (byte === BACKSLASH) return readEscape();
      if (byte >= 0x80) return readWide(byte);
      at++;
      return byte;
    },
  };
  return reader;
}

/** The UTF-16 unit that the escape at `at` stands for. */
function escapedUnit(bytes: Buffer, at: number): number {
  const letter = bytes[at + 1];
  if (letter !== U) return SHORT[letter];
  return (
    (DIGIT[bytes[at + 2]] << 12) | (DIGIT[bytes[at + 3]] << 8) | (DIGIT[bytes[at + 4]] << 4) | DIGIT[bytes[at + 5]]
  );
}

const U = "u".charCodeAt(0);
const SHORT = new Uint8Array(256);
for (const [letter, meant] of Object.entries({ '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r" }))
  SHORT[letter.charCodeAt(0)] = meant.charCodeAt(0);
SHORT["t".charCodeAt(0)] = "\t".charCodeAt(0);
const DIGIT = new Uint8Array(256);
for (let digit = 0; digit < 16; digit++) {
  DIGIT[digit.toString(16).charCodeAt(0)] = digit;
  DIGIT[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}

const FIRST = createUnitReader();
const SECOND = createUnitReader();
