import { BACKSLASH } from "./characters.ts";
import { createUnitReader, END_OF_STRING } from "./spelling.ts";

/**
 * The folded form of a name: NFKC, lower case, without invisible characters and whitespace. A careless peer might take
 * two names with the same folded form for the same name.
 */
export function fold(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return foldSeen(compose(name));
}

/** The name as a reader sees it: NFKC, without invisible characters and whitespace. */
export function compose(name: string): string {
  return PLAIN.test(name) ? name : name.normalize("NFKC").replace(unseen(), "");
}

/** Longer names with non-ASCII characters are not folded: NFKC can make a text eighteen times longer. */
const MAX_FOLDED_CHARACTERS = 128;

/** Folds a name that a peer chose. Returns null if it is too long to be compared. */
export function foldName(name: string): string | null {
  if (PLAIN.test(name)) return name.toLowerCase();
  const folded = name.length > MAX_FOLDED_CHARACTERS ? null : fold(name);
  return folded === null || folded.length > 2 * MAX_FOLDED_CHARACTERS ? null : folded;
}

/** Whether a peer might take a key for one of the keys in `folded`, which are folded, short and in ASCII. */
export function isAlike(key: string, folded: ReadonlySet<string>): boolean {
  if (PLAIN.test(key)) return folded.has(key.toLowerCase());
  let nth = 0;
  const seen = foldUnits(() => (nth < key.length ? key.charCodeAt(nth++) : END_OF_STRING));
  return seen !== null && folded.has(seen);
}

/** Like `isAlike`, for a key in the bytes of a message, without its quotes. A long key is not decoded. */
export function isAlikeAt(bytes: Buffer, start: number, end: number, folded: ReadonlySet<string>): boolean {
  let at = start;
  for (; at < end; at++) {
    const byte = bytes[at];
    if (byte <= 0x20 || byte >= 0x7f || byte === BACKSLASH) break;
  }
  if (at === end) return end - start <= MAX_ALIKE && folded.has(bytes.toString("latin1", start, end).toLowerCase());
  if (at - start > MAX_ALIKE) return false;
  const seen = foldUnits(units.begin(bytes, start).read);
  return seen !== null && folded.has(seen);
}

/** Limit for a folded key: no known key is longer. */
const MAX_ALIKE = 32;

const units = createUnitReader();
const folding = Buffer.alloc(2 * MAX_ALIKE);

/**
 * The folded form of a key if it is short and in ASCII, otherwise null. Each character can be folded separately: no two
 * characters compose to an ASCII character, so the neighbours of a character cannot make it ASCII.
 */
function foldUnits(read: () => number): string | null {
  let length = 0;
  for (let unit = read(); unit !== END_OF_STRING; unit = read()) {
    let point = unit;
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const low = read();
      if (low < 0xdc00 || low > 0xdfff) return null;
      point = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
    }
    if (point > 0x20 && point < 0x7f) folding[length++] = point >= 0x41 && point <= 0x5a ? point | 0x20 : point;
    else {
      const folded = foldPoint(point);
      if (folded === null) return null;
      if (folded !== "") length += folding.write(folded, length, "latin1");
    }
    if (length > MAX_ALIKE) return null;
  }
  return folding.toString("latin1", 0, length);
}

// Cache of folded characters. Its size is bounded by the number of Unicode code points.
const UNASKED = 0;
const OTHER = 1;
const ASCII = 2;
let asked: Uint8Array | undefined;
const toAscii = new Map<number, string>();

/** The ASCII text that a character folds to: empty for an invisible character, null if the result is not ASCII. */
function foldPoint(point: number): string | null {
  asked ??= new Uint8Array(0x110000);
  if (asked[point] === UNASKED) {
    const folded = fold(String.fromCodePoint(point));
    asked[point] = PLAIN.test(folded) ? ASCII : OTHER;
    if (asked[point] === ASCII) toAscii.set(point, folded);
  }
  return asked[point] === ASCII ? (toAscii.get(point) ?? "") : null;
}

const PLAIN = /^[!-~]*$/;

function foldSeen(text: string): string {
  // Repeated until nothing changes: characters that were separated before may compose now, and a lower-case letter may
  // compose where the upper-case one did not. Final sigma counts as sigma.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const folded = text.normalize("NFKC").toLowerCase().replaceAll("ς", "σ");
    if (folded === text) break;
    text = folded;
  }
  return text;
}

const MAX_ROUNDS = 4;

// Compiled on first use: names that need it are rare, and the character sets are large.
let unseenCharacters: RegExp | undefined;
function unseen(): RegExp {
  return (unseenCharacters ??= /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\s]/gu);
}
