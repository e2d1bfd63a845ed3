import { BACKSLASH } from "./characters.ts";
import { createUnitReader, END_OF_STRING } from "./spelling.ts";

/**
 * The form under which a careless peer might take two names for the same: compatibility
 * characters composed, case dropped, and everything removed that does not show or is trimmed.
 */
export function fold(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return foldSeen(compose(name));
}

/** The name as it looks: compatibility characters composed, and nothing in it that does not show. */
export function compose(name: string): string {
  return PLAIN.test(name) ? name : name.normalize("NFKC").replace(unseen(), "");
}

/** Longer names outside ASCII are not folded: what composes can grow to eighteen times its size. */
const MAX_FOLDED_CHARACTERS = 128;

/** The same for a name that a peer chose; null where it is too long to be compared. */
export function foldName(name: string): string | null {
  if (PLAIN.test(name)) return name.toLowerCase();
  const folded = name.length > MAX_FOLDED_CHARACTERS ? null : fold(name);
  return folded === null || folded.length > 2 * MAX_FOLDED_CHARACTERS ? null : folded;
}

/** Whether a key would be taken for one of these, which are folded, short and made of ASCII letters. */
export function isAlike(key: string, folded: ReadonlySet<string>): boolean {
  if (PLAIN.test(key)) return folded.has(key.toLowerCase());
  let nth = 0;
  const seen = foldUnits(() => (nth < key.length ? key.charCodeAt(nth++) : END_OF_STRING));
  return seen !== null && folded.has(seen);
}

/** The same for a key where it stands in the bytes of a message, without its quotes. No text is made of a long one. */
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

/** No key that matters is longer, once it is folded. */
const MAX_ALIKE = 32;

const units = createUnitReader();
const folding = Buffer.alloc(2 * MAX_ALIKE);

/**
 * What a key is folded to, where that is short and nothing but ASCII; else null. Character by character: no two characters
 * compose to one of ASCII, so what is not ASCII by itself does not become so beside another one.
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

// What single characters are folded to, as far as somebody has asked: there are no more of them than Unicode has places.
const UNASKED = 0;
const OTHER = 1;
const ASCII = 2;
let asked: Uint8Array | undefined;
const toAscii = new Map<number, string>();

/** The ASCII text that a character is folded to: empty where it does not show, null where it is something else. */
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
  // Until nothing changes: what stood apart may now compose, and a small letter may compose where the
  // capital did not. A sigma is a sigma, at the end of a word too.
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
