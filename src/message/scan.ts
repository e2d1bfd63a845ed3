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
import { type Added, createKeySet, type KeySet } from "./key-set.ts";
import { type Level, PARAMS, PROTOTYPE, ROOT, SLOT, slotOf, SLOTS, VARIANT } from "./keys.ts";
import type { Fault } from "./faults.ts";
import type { Payload } from "./payload.ts";
import { isSpelled } from "./spelling.ts";
import { endOfString, isHex, viewWords } from "./strings.ts";

/** What one pass over the bytes of a message finds. Filled anew by every call of `scan`. */
export interface Scan {
  /** What is wrong, or null. With "not-json" and "not-utf8" nothing else here may be used. */
  fault: Fault | null;
  /** Start and end of the values of the members in SLOT. The start is -1 where a member is missing. */
  readonly spans: Int32Array;
  /** The byte the value begins with: an object, an array, or something else. */
  opens: number;
  /** Whether the id cannot be trusted, because it is there twice or in a variant. */
  idInDoubt: boolean;
  /** Whether there is a raw CR or LF between tokens, other than one CR at the very end. */
  breaks: boolean;
  /** How many keys had to be looked for in a set: each costs many times what its bytes do. */
  setKeys: number;
}

/** Nesting deeper than this is refused: other parsers give up somewhere above it. */
export const MAX_DEPTH = 128;

const result: Scan = {
  fault: null,
  spans: new Int32Array(2 * SLOTS),
  opens: 0,
  idInDoubt: false,
  breaks: false,
  setKeys: 0,
};

const OBJECT = 1;
const ARRAY = 0;

// The containers that are open: what they are, and where their keys begin in the list of keys.
const container = new Uint8Array(MAX_DEPTH + 2);
const firstKey = new Int32Array(MAX_DEPTH + 2);

// The keys of all open objects, innermost last. Small objects are compared key by key; an object
// with many keys, or with an escaped one, is given a set of its keys instead. The sets are made once
// for each level: an object with one escaped key may come a million times.
let keyStart = new Int32Array(1024);
let keyLength = new Int32Array(1024);
const wide: (KeySet | null)[] = Array.from({ length: MAX_DEPTH + 2 }, () => null);
const sets: (KeySet | undefined)[] = Array.from({ length: MAX_DEPTH + 2 });
let usesSets = false;
const MAX_COMPARED = 24;
const MAX_KEPT_KEYS = 65_536;

// Rows of a table repeat their keys in the same order. The keys of the last object on each level
// are kept as a forecast: a key that equals its forecast is new in its object without a search.
const FORECAST = 16;
const forecastStart = new Int32Array((MAX_DEPTH + 2) * FORECAST);
const forecastLength = new Int32Array((MAX_DEPTH + 2) * FORECAST);
const forecasts = new Int32Array(MAX_DEPTH + 2);

/**
 * Validates one JSON text strictly and notes where the members that matter are, in one pass
 * and without building a value. The answer is valid until the next call. `maxDepth` is MAX_DEPTH at the most.
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
    usesSets = false;
    const fault = walk(bytes, start, end, maxDepth);
    if (usesSets) for (const set of sets) set?.clear(); // they would keep tables of megabytes
    if (fault !== null) result.fault = fault;
    if (keyStart.length > MAX_KEPT_KEYS) {
      keyStart = new Int32Array(1024);
      keyLength = new Int32Array(1024);
    }
  }
  return result;
}

/** What the last scan found. */
export function lastScan(): Scan {
  return result;
}

/** The walk itself. Returns what ends it early; what it only notes goes to `result.fault`. */
function walk(bytes: Buffer, at: number, end: number, maxDepth: number): Fault | null {
  const spans = result.spans;
  let starts = keyStart;
  let lengths = keyLength;
  // Made when the first long string is met; most messages have none.
  let words: Int32Array | null = null;
  let byte = 0;
  let depth = 0;
  let deepest = 0;
  let keys = 0;
  let atKey = false;
  let outer = -1; // the slot of the member of the envelope we are in
  let inner = -1; // the slot of the member of params we are in

  value: for (;;) {
    if (atKey) {
      atKey = false;
      if (byte !== QUOTE) return "not-json";
      const start = ++at;
      const first = firstKey[depth];
      const nth = keys - first;
      let escaped = false;
      let length = -1;
      if (depth > 2 && nth < forecasts[depth]) {
        const place = depth * FORECAST + nth;
        const from = forecastStart[place];
        const size = forecastLength[place];
        let same = 0;
        while (same < size && bytes[from + same] === bytes[start + same]) same++;
        if (same === size && bytes[start + size] === QUOTE) {
          length = size;
          at = start + size;
        } else forecasts[depth] = nth;
      }
      if (length < 0) {
        for (;;) {
          byte = bytes[at];
          while (byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE) byte = bytes[++at];
          if (at >= end) return "not-json";
          byte = bytes[at];
          if (byte === QUOTE) break;
          if (byte !== BACKSLASH) return "not-json";
          escaped = true;
          const kind = ESCAPE[bytes[at + 1]];
          if (kind === 1) at += 2;
          else if (kind === 2 && isHex(bytes, at + 2)) at += 6;
          else return "not-json";
        }
        length = at - start;
        if (escaped || wide[depth] !== null || nth === MAX_COMPARED) {
          const added = addToWide(bytes, depth, first, keys, start, at);
          if (added === "twice") {
            result.fault ??= "duplicate-key";
            if (depth === 1) noteDuplicate(bytes, start, at);
          } else if (added === "broken") result.fault ??= "lone-surrogate";
        } else {
          for (let other = first; other < keys; other++) {
            if (lengths[other] !== length) continue;
            const from = starts[other];
            let same = 0;
            while (same < length && bytes[from + same] === bytes[start + same]) same++;
            if (same === length) {
              result.fault ??= "duplicate-key";
              if (depth === 1) noteDuplicate(bytes, start, at);
              break;
            }
          }
          if (depth > 2 && nth < FORECAST && nth === forecasts[depth]) {
            forecastStart[depth * FORECAST + nth] = start;
            forecastLength[depth * FORECAST + nth] = length;
            forecasts[depth] = nth + 1;
          }
        }
      }
      if (keys === starts.length) {
        growKeys();
        starts = keyStart;
        lengths = keyLength;
      }
      starts[keys] = start;
      lengths[keys] = length;
      keys++;
      if (depth === 1) outer = noteKey(ROOT, bytes, start, at);
      else if (depth === 2 && outer === SLOT.params) inner = noteKey(PARAMS, bytes, start, at);
      byte = bytes[++at];
      if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
      if (byte !== COLON) return "not-json";
      at++;
    }
    byte = bytes[at];
    if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
    if (at >= end) return "not-json";
    if (depth <= 2) {
      if (depth === 1 && outer >= 0) spans[2 * outer] = at;
      else if (depth === 2 && inner >= 0) spans[2 * inner] = at;
      else if (depth === 0) result.opens = byte;
    }

    if (byte === QUOTE) {
      const long = at + 24;
      byte = bytes[++at];
      for (;;) {
        while (byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE && at < long) byte = bytes[++at];
        if (byte === QUOTE) break;
        if (at >= long) {
          at = endOfString(bytes, (words ??= viewWords(bytes)), at, end);
          if (at < 0) return "not-json";
          break;
        }
        if (byte !== BACKSLASH) return "not-json";
        const kind = ESCAPE[bytes[at + 1]];
        if (kind === 1) at += 2;
        else if (kind === 2 && isHex(bytes, at + 2)) at += 6;
        else return "not-json";
        byte = bytes[at];
      }
      if (at >= end) return "not-json";
      at++;
    } else if (byte === OPEN_OBJECT) {
      if (++depth > maxDepth) return "too-deep";
      if (depth > deepest) {
        deepest = depth;
        forecasts[depth] = 0;
        wide[depth] = null;
      }
      container[depth] = OBJECT;
      firstKey[depth] = keys;
      if (depth === 2) inner = -1;
      byte = bytes[++at];
      if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
      if (byte !== CLOSE_OBJECT) {
        atKey = true;
        continue value;
      }
      at++;
      depth--;
    } else if (byte === OPEN_ARRAY) {
      if (++depth > maxDepth) return "too-deep";
      if (depth > deepest) {
        deepest = depth;
        forecasts[depth] = 0;
        wide[depth] = null;
      }
      container[depth] = ARRAY;
      if (depth === 1) outer = -1;
      if (depth === 2) inner = -1;
      byte = bytes[++at];
      if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
      if (byte !== CLOSE_ARRAY) continue value;
      at++;
      depth--;
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
      if (at > end) return "not-json"; // it ends outside of the message
      if (depth <= 2) {
        if (depth === 1 && outer >= 0) spans[2 * outer + 1] = at;
        else if (depth === 2 && inner >= 0) spans[2 * inner + 1] = at;
      }
      if (depth === 0) return isClean(bytes, at, end) ? null : "not-json";
      byte = bytes[at];
      if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
      if (at >= end) return "not-json";
      if (container[depth] === OBJECT) {
        if (byte === COMMA) {
          byte = bytes[++at];
          if (byte <= SPACE) byte = bytes[(at = skipSpace(bytes, at))];
          atKey = true;
          continue value;
        }
        if (byte !== CLOSE_OBJECT) return "not-json";
        keys = firstKey[depth];
        wide[depth] = null;
      } else {
        if (byte === COMMA) {
          at++;
          continue value;
        }
        if (byte !== CLOSE_ARRAY) return "not-json";
      }
      at++;
      depth--;
    }
  }
}

/** The first place at or after `at` that is not whitespace. Line breaks are noted. */
function skipSpace(bytes: Buffer, at: number): number {
  for (;;) {
    const byte = bytes[at];
    if (byte === CR || byte === LF) result.breaks = true;
    else if (byte !== SPACE && byte !== TAB) return at;
    at++;
  }
}

/** Whether nothing but whitespace follows. One CR at the very end belongs to the line's end, not to the message. */
function isClean(bytes: Buffer, at: number, end: number): boolean {
  for (; at < end; at++) {
    const byte = bytes[at];
    if (byte === LF || (byte === CR && at < end - 1)) result.breaks = true;
    else if (byte !== SPACE && byte !== TAB && byte !== CR) return false;
  }
  return true;
}

/** The length of `true`, `false` or `null` at this place, or 0. */
function literal(bytes: Buffer, at: number, byte: number): number {
  if (byte === 0x74) return bytes[at + 1] === 0x72 && bytes[at + 2] === 0x75 && bytes[at + 3] === 0x65 ? 4 : 0;
  if (byte === 0x6e) return bytes[at + 1] === 0x75 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x6c ? 4 : 0;
  if (byte !== 0x66 || bytes[at + 1] !== 0x61 || bytes[at + 2] !== 0x6c) return 0;
  return bytes[at + 3] === 0x73 && bytes[at + 4] === 0x65 ? 5 : 0;
}

/** The slot of a key, with what is odd about the key noted. */
function noteKey(level: Level, bytes: Buffer, start: number, end: number): number {
  const slot = slotOf(level, bytes, start, end);
  if (slot === VARIANT) {
    result.fault ??= "variant-key";
    // Which of the two is the id depends on who reads: neither is echoed.
    if (level === ROOT && ID_VARIANTS.some((id) => isSpelled(bytes, start, end, id))) result.idInDoubt = true;
  } else if (slot === PROTOTYPE) result.fault ??= "prototype-key";
  return slot;
}

function noteDuplicate(bytes: Buffer, start: number, end: number): void {
  if (isSpelled(bytes, start, end, "id")) result.idInDoubt = true;
}

const ID_VARIANTS = ["ID", "Id", "iD"];

/** Adds a key to the set of its object's keys, with those before it where it is the first to need one. */
function addToWide(bytes: Buffer, depth: number, first: number, keys: number, start: number, end: number): Added {
  let set = wide[depth];
  result.setKeys++;
  if (set === null) {
    wide[depth] = set = sets[depth] ??= createKeySet();
    usesSets = true;
    set.clear();
    for (let other = first; other < keys; other++) {
      set.add(bytes, keyStart[other], keyStart[other] + keyLength[other]);
    }
  }
  return set.add(bytes, start, end);
}

function growKeys(): void {
  const starts = new Int32Array(keyStart.length * 2);
  const lengths = new Int32Array(keyLength.length * 2);
  starts.set(keyStart);
  lengths.set(keyLength);
  keyStart = starts;
  keyLength = lengths;
}
