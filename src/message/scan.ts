import { isUtf8 } from "node:buffer";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  CR,
  DOT,
  ESCAPE,
  LF,
  MINUS,
  NINE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  PLUS,
  QUOTE,
  SPACE,
  TAB,
  ZERO,
} from "./characters.ts";
import { type Level, PROTOTYPE, ROOT, slotOf, SLOTS, VARIANT } from "./keys.ts";
import type { Fault } from "./faults.ts";
import type { Payload } from "./payload.ts";
import { addKey, beginComparing, forgetKeys, isInSet, keepKey, MAX_DEPTH } from "./open-keys.ts";
import { beginShape, learnKey, loseKey, openElement, openObject, type Shape } from "./shapes.ts";
import { isSpelled } from "./spelling.ts";
import { endOfString, isHex, marks, viewWords } from "./strings.ts";
import { isAt, viewOf } from "./words.ts";

/** What one pass over the bytes of a message finds. Every call of `scan` overwrites it. */
export interface Scan {
  /** What is wrong, or null. After "not-json" and "not-utf8" no other field is meaningful. */
  fault: Fault | null;
  /** Start and end of the values of the members in SLOT. The start is -1 where a member is missing. */
  readonly spans: Int32Array;
  /** The first byte of the value, which tells an object, an array, or something else. */
  opens: number;
  /** Whether the id cannot be trusted, because there are two, or a variant such as `ID`. */
  idInDoubt: boolean;
  /** Whether there is a raw CR or LF between tokens, other than one CR at the very end. */
  breaks: boolean;
  /** How many keys had to be looked up in a set: each costs many times more than reading its bytes. */
  setKeys: number;
}

export { MAX_DEPTH } from "./open-keys.ts";

const result: Scan = {
  fault: null,
  spans: new Int32Array(2 * SLOTS),
  opens: 0,
  idInDoubt: false,
  breaks: false,
  setKeys: 0,
};

// For each open container: the index of its first key in the list of keys, or ARRAY for an array.
const firstKey = new Int32Array(MAX_DEPTH + 2);
const ARRAY = -1;

// For each open container: the shape to continue with when it closes.
const around: Shape[] = Array.from({ length: MAX_DEPTH + 2 }, beginShape);

/**
 * Validates one JSON text strictly and records where the members in SLOT are, in one pass and without building a value.
 * The returned object is valid until the next call. `maxDepth` is at most MAX_DEPTH.
 */
export function scan({ bytes, start, end, ascii }: Payload, maxDepth = MAX_DEPTH): Scan {
  result.fault = null;
  result.idInDoubt = false;
  result.breaks = false;
  result.setKeys = 0;
  result.opens = 0;
  for (let slot = 0; slot < SLOTS; slot++) result.spans[2 * slot] = -1;
  if (!ascii && !isUtf8(bytes.subarray(start, end))) result.fault = "not-utf8";
  else {
    const fault = walk(bytes, viewOf(bytes), start, end, maxDepth);
    forgetKeys();
    if (fault !== null) result.fault = fault;
  }
  return result;
}

/** The result of the last scan. */
export function lastScan(): Scan {
  return result;
}

/** The pass itself. Returns a fault that stops it; other faults are written to `result.fault`, and the pass goes on. */
function walk(bytes: Buffer, view: DataView, at: number, end: number, maxDepth: number): Fault | null {
  const spans = result.spans;
  // Created at the first long string; most messages have none.
  let words: Int32Array | null = null;
  const lastWord = bytes.length - 4;
  let byte = 0;
  let depth = 0;
  let keys = 0;
  let atKey = false;
  let shape = beginShape();
  let slot = -1; // of the value that begins here

  value: for (;;) {
    if (atKey) {
      atKey = false;
      let next = shape.next;
      while (next !== null && !isAt(next, view, at, end)) next = next.other;
      if (next !== null) {
        keepKey(keys, at + 1, next.length - 3);
        at += next.length;
        shape = next;
      } else {
        const read = readKey(bytes, view, at, end, depth, keys, shape);
        if (read === null) return "not-json";
        at = afterKey;
        shape = read;
      }
      keys++;
      slot = shape.slot;
    }
    byte = bytes[at];
    if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
    if (at >= end) return "not-json";
    if (slot >= 0) spans[2 * slot] = at;
    else if (depth === 0) result.opens = byte;

    if (byte === QUOTE) {
      const long = Math.min(++at + 24, lastWord);
      for (;;) {
        let hits = 0;
        while (at <= long && (hits = marks(view.getInt32(at, true))) === 0) at += 4;
        if (hits === 0) {
          at = endOfString(bytes, (words ??= viewWords(bytes)), at, end);
          if (at < 0) return "not-json";
          break;
        }
        at += (31 - Math.clz32(hits & -hits)) >> 3;
        byte = bytes[at];
        if (byte === QUOTE) break;
        if (byte !== BACKSLASH) return "not-json";
        const kind = ESCAPE[bytes[at + 1]];
        if (kind === 1) at += 2;
        else if (kind === 2 && isHex(bytes, at + 2)) at += 6;
        else return "not-json";
      }
      if (at >= end) return "not-json";
      at++;
    } else if (byte === OPEN_OBJECT) {
      around[depth] = shape;
      shape = depth > 0 && firstKey[depth] === ARRAY ? openElement(shape) : openObject(shape);
      if (++depth > maxDepth) return "too-deep";
      firstKey[depth] = keys;
      byte = bytes[++at];
      if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
      if (byte !== CLOSE_OBJECT) {
        atKey = true;
        continue value;
      }
      at++;
      shape = around[--depth];
    } else if (byte === OPEN_ARRAY) {
      around[depth] = shape;
      if (++depth > maxDepth) return "too-deep";
      firstKey[depth] = ARRAY;
      byte = bytes[++at];
      if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
      if (byte !== CLOSE_ARRAY) {
        slot = -1;
        continue value;
      }
      at++;
      shape = around[--depth];
    } else if ((byte >= ZERO && byte <= NINE) || byte === MINUS) {
      if (byte === MINUS) byte = bytes[++at];
      if (byte === ZERO) byte = bytes[++at];
      else if (byte > ZERO && byte <= NINE) {
        do byte = bytes[++at];
        while (byte >= ZERO && byte <= NINE);
      } else return "not-json";
      if (byte === DOT) {
        byte = bytes[++at];
        if (!(byte >= ZERO && byte <= NINE)) return "not-json";
        do byte = bytes[++at];
        while (byte >= ZERO && byte <= NINE);
      }
      if (byte === 0x65 || byte === 0x45) {
        byte = bytes[++at];
        if (byte === PLUS || byte === MINUS) byte = bytes[++at];
        if (!(byte >= ZERO && byte <= NINE)) return "not-json";
        do byte = bytes[++at];
        while (byte >= ZERO && byte <= NINE);
      }
    } else {
      const size = literal(bytes, at, byte);
      if (size === 0) return "not-json";
      at += size;
    }

    for (;;) {
      if (at > end) return "not-json"; // the value ends outside the message
      if (shape.slot >= 0) spans[2 * shape.slot + 1] = at;
      if (depth === 0) return isClean(bytes, at, end) ? null : "not-json";
      byte = bytes[at];
      if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
      if (at >= end) return "not-json";
      const first = firstKey[depth];
      if (first !== ARRAY) {
        if (byte === COMMA) {
          byte = bytes[++at];
          if (byte <= SPACE) at = skipSpace(bytes, at);
          atKey = true;
          continue value;
        }
        if (byte !== CLOSE_OBJECT) return "not-json";
        keys = first;
      } else {
        if (byte === COMMA) {
          at++;
          slot = -1;
          continue value;
        }
        if (byte !== CLOSE_ARRAY) return "not-json";
      }
      at++;
      shape = around[--depth];
    }
  }
}

let afterKey = 0;

/**
 * Reads a key that has not been learnt, and learns it. Sets `afterKey` to the offset after its colon. Returns null if
 * the key is not valid JSON.
 */
function readKey(
  bytes: Buffer,
  view: DataView,
  quote: number,
  end: number,
  depth: number,
  keys: number,
  shape: Shape,
): Shape | null {
  const start = quote + 1;
  let at = start;
  let escaped = false;
  if (bytes[quote] !== QUOTE) return null;
  for (;;) {
    let byte = bytes[at];
    while (byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE) byte = bytes[++at];
    if (at >= end) return null;
    if (byte === QUOTE) break;
    if (byte !== BACKSLASH) return null;
    escaped = true;
    const kind = ESCAPE[bytes[at + 1]];
    if (kind === 1) at += 2;
    else if (kind === 2 && isHex(bytes, at + 2)) at += 6;
    else return null;
  }
  const first = firstKey[depth];
  if (!shape.isLost) beginComparing(depth);
  const added = addKey(bytes, depth, first, keys, start, at, escaped);
  if (isInSet(depth)) result.setKeys++;
  if (added === "twice") {
    result.fault ??= "duplicate-key";
    if (depth === 1) noteDuplicate(bytes, start, at);
  } else if (added === "broken") result.fault ??= "lone-surrogate";
  const slot = shape.level === null ? -1 : noteKey(shape.level, bytes, start, at);
  afterKey = at + 1;
  if (bytes[afterKey] <= SPACE) afterKey = skipSpace(bytes, afterKey);
  if (bytes[afterKey] !== COLON) return null;
  afterKey++;
  const isPlain =
    added === "new" && !escaped && slot !== VARIANT && slot !== PROTOTYPE && afterKey === at + 2 && afterKey <= end;
  return isPlain && !shape.isLost ? learnKey(shape, view, quote, afterKey, slot) : loseKey(shape, slot);
}

/** The first offset at or after `at` that is not whitespace. Sets `result.breaks` at line breaks. */
function skipSpace(bytes: Buffer, at: number): number {
  for (;;) {
    const byte = bytes[at];
    if (byte === CR || byte === LF) result.breaks = true;
    else if (byte !== SPACE && byte !== TAB) return at;
    at++;
  }
}

/** Whether only whitespace follows. One CR at the very end belongs to the line ending, not to the message. */
function isClean(bytes: Buffer, at: number, end: number): boolean {
  for (; at < end; at++) {
    const byte = bytes[at];
    if (byte === LF || (byte === CR && at < end - 1)) result.breaks = true;
    else if (byte !== SPACE && byte !== TAB && byte !== CR) return false;
  }
  return true;
}

/** The length of `true`, `false` or `null` at this offset, or 0. */
function literal(bytes: Buffer, at: number, byte: number): number {
  if (byte === 0x74) return bytes[at + 1] === 0x72 && bytes[at + 2] === 0x75 && bytes[at + 3] === 0x65 ? 4 : 0;
  if (byte === 0x6e) return bytes[at + 1] === 0x75 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x6c ? 4 : 0;
  if (byte !== 0x66 || bytes[at + 1] !== 0x61 || bytes[at + 2] !== 0x6c) return 0;
  return bytes[at + 3] === 0x73 && bytes[at + 4] === 0x65 ? 5 : 0;
}

/** The slot of a key. Records a fault if the key is a variant or `__proto__`. */
function noteKey(level: Level, bytes: Buffer, start: number, end: number): number {
  const slot = slotOf(level, bytes, start, end);
  if (slot === VARIANT) {
    result.fault ??= "variant-key";
    // Peers may disagree on which member is the id, so neither is used in a response.
    if (level === ROOT && ID_VARIANTS.some((id) => isSpelled(bytes, start, end, id))) result.idInDoubt = true;
  } else if (slot === PROTOTYPE) result.fault ??= "prototype-key";
  return slot;
}

function noteDuplicate(bytes: Buffer, start: number, end: number): void {
  if (isSpelled(bytes, start, end, "id")) result.idInDoubt = true;
}

const ID_VARIANTS = ["ID", "Id", "iD"];
