import { BACKSLASH, COMMA, QUOTE } from "./characters.ts";
import { sortKeys } from "./sort-keys.ts";
import { createUnitReader, END_OF_STRING } from "./spelling.ts";

/** Writes the canonical text of a value, piece by piece. */
export interface CanonicalWriter {
  /** Copies a range of the input. Adjacent ranges are copied in one operation. */
  copy(start: number, end: number): void;
  byte(byte: number): void;
  /** Writes ASCII text. */
  text(text: string): void;
  /** Writes a string that contains escapes. `start` and `end` are offsets in the input, without the quotes. */
  string(start: number, end: number): void;
  /** How many bytes have been written. */
  position(): number;
  /**
   * Sorts the members of an object by their keys. `places` holds two output offsets for each member, from `base` to
   * `top`: where it begins and where it ends. The members are adjacent, separated by commas, and are the last thing
   * written.
   */
  reorder(places: Int32Array, base: number, top: number): void;
  end(): Buffer;
}

/** Limit for the canonical text. It can be larger than the input, because zeros of numbers are written out. */
const MAX_CANONICAL_BYTES = 128 * 1024 * 1024;

/** Makes a writer for a value of about `expected` bytes. */
export function createCanonicalWriter(
  bytes: Buffer,
  expected: number,
  onWork: (steps: number) => void,
): CanonicalWriter {
  let output = Buffer.allocUnsafe(expected + 64);
  let length = 0;
  // The range of the input that has still to be copied.
  let from = 0;
  let to = 0;
  let spare = Buffer.allocUnsafe(64); // holds a copy of the members while they are sorted

  function makeRoom(more: number): void {
    if (length + more <= output.length) return;
    if (length + more > MAX_CANONICAL_BYTES) throw new RangeError("a value with too many digits to be compared");
    onWork(more >> 2);
    const larger = Buffer.allocUnsafe(Math.min(MAX_CANONICAL_BYTES, 2 * (length + more)));
    output.copy(larger, 0, 0, length);
    output = larger;
  }

  function flush(): void {
    if (from === to) return;
    makeRoom(to - from);
    move(bytes, from, to, output, length);
    length += to - from;
    from = to;
  }

  return {
    copy(start, end) {
      if (start !== to) {
        flush();
        from = start;
      }
      to = end;
    },
    byte(byte) {
      if (bytes[to] === byte && from !== to) {
        to++;
        return;
      }
      flush();
      makeRoom(1);
      output[length++] = byte;
    },
    text(text) {
      flush();
      makeRoom(text.length);
      length += output.write(text, length, "latin1");
    },
    string(start, end) {
      flush();
      // The output never needs more room: no escape is shorter than its character, and a kept escape does not grow.
      makeRoom(end - start + 2);
      output[length++] = QUOTE;
      length = writeUnits(units.begin(bytes, start).read, output, length);
      output[length++] = QUOTE;
    },
    position: () => length + to - from,
    reorder(places, base, top) {
      flush();
      const start = places[base];
      onWork((length - start) >> 6);
      const order = sortKeys(output, places, base, top, onWork);
      if (spare.length < length - start) spare = Buffer.allocUnsafe(2 * (length - start));
      move(output, start, length, spare, 0);
      let at = start;
      for (let nth = 0; nth < (top - base) >> 1; nth++) {
        if (at > start) output[at++] = COMMA;
        const place = base + 2 * order[nth];
        move(spare, places[place] - start, places[place + 1] - start, output, at);
        at += places[place + 1] - places[place];
      }
    },
    end() {
      flush();
      return output.subarray(0, length);
    },
  };
}

/** Copies bytes. For a few bytes a loop is cheaper than a call of `copy`. */
function move(source: Buffer, start: number, end: number, target: Buffer, at: number): void {
  if (end - start > 64) source.copy(target, at, start, end);
  else for (let place = start, into = at; place < end;) target[into++] = source[place++];
}

const units = createUnitReader();

/** Writes a string as JSON.stringify does, in UTF-8. Returns the offset of its end. */
function writeUnits(read: () => number, target: Buffer, start: number): number {
  let at = start;
  let high = 0; // a high surrogate whose low surrogate has not been read yet
  for (let unit = read(); unit !== END_OF_STRING; unit = read()) {
    if (high !== 0) {
      if (unit >= 0xdc00 && unit <= 0xdfff) {
        const point = 0x10000 + ((high & 0x3ff) << 10) + (unit & 0x3ff);
        target[at++] = 0xf0 | (point >> 18);
        target[at++] = 0x80 | ((point >> 12) & 0x3f);
        target[at++] = 0x80 | ((point >> 6) & 0x3f);
        target[at++] = 0x80 | (point & 0x3f);
        high = 0;
        continue;
      }
      at = writeEscape(high, target, at);
      high = 0;
    }
    if (unit < 0x20 || unit === QUOTE || unit === BACKSLASH) at = writeEscape(unit, target, at);
    else if (unit < 0x80) target[at++] = unit;
    else if (unit < 0x800) {
      target[at++] = 0xc0 | (unit >> 6);
      target[at++] = 0x80 | (unit & 0x3f);
    } else if (unit >= 0xd800 && unit <= 0xdbff) high = unit;
    else if (unit >= 0xdc00 && unit <= 0xdfff) at = writeEscape(unit, target, at);
    else {
      target[at++] = 0xe0 | (unit >> 12);
      target[at++] = 0x80 | ((unit >> 6) & 0x3f);
      target[at++] = 0x80 | (unit & 0x3f);
    }
  }
  return high === 0 ? at : writeEscape(high, target, at);
}

function writeEscape(unit: number, target: Buffer, start: number): number {
  let at = start;
  target[at++] = BACKSLASH;
  const letter = unit < 0x80 ? SHORT[unit] : 0;
  if (letter !== 0) {
    target[at++] = letter;
    return at;
  }
  target[at++] = "u".charCodeAt(0);
  for (let shift = 12; shift >= 0; shift -= 4) target[at++] = HEX.charCodeAt((unit >> shift) & 15);
  return at;
}

const HEX = "0123456789abcdef";
const SHORT = new Uint8Array(128);
for (const character of '"\\\b\f\n\r\t') SHORT[character.charCodeAt(0)] = JSON.stringify(character).charCodeAt(2);
