import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./characters.ts";
import type { Span } from "./envelope.ts";
import { afterString, endOfValue, skipSpace } from "./members.ts";
import { readText } from "./text.ts";

/**
 * The one text of a value, however it was spelled: no space, keys in order, strings and numbers in one form. Numbers are
 * told apart by their exact value, not by what fits into one of ours. The members of the value itself that are named in
 * `without` are left out. The bytes have been validated; they are walked over once, however deep they are.
 */
export function canonicalText(bytes: Buffer, span: Span, without: readonly string[] = []): string {
  return readValue({ bytes, at: span.start }, without);
}

/** The one text of a JSON number: its digits without zeros at either end, and a power of ten. */
export function canonicalNumber(text: string): string {
  if (text.length <= MAX_PLAIN && PLAIN.test(text)) return text;
  const [, minus, whole, fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  const all = `${whole}${fraction}`;
  let first = 0;
  while (first < all.length && all[first] === "0") first++;
  if (first === all.length) return "0";
  let last = all.length;
  while (all[last - 1] === "0") last--;
  const digits = `${minus}${all.slice(first, last)}`;
  const size = exponent.replace(/^(-?)0+(?=\d)/, "$1");
  // Beyond all bounds: such numbers are told apart by how they are spelled.
  if (size.length > MAX_EXPONENT) return `${digits}e${size}:${last - whole.length}`;
  const power = Number(size) + all.length - last - fraction.length;
  return power >= 0 && power <= MAX_ZEROS ? digits + "0".repeat(power) : `${digits}e${power}`;
}

interface Walker {
  readonly bytes: Buffer;
  at: number;
}

const PLAIN = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/;

// So that 1e2 is 100. What is short and plain has no more zeros than that.
const MAX_ZEROS = 400;
const MAX_PLAIN = 300;
const MAX_EXPONENT = 14;

function readValue(walker: Walker, without: readonly string[]): string {
  const { bytes, at } = walker;
  switch (bytes[at]) {
    case QUOTE:
      return JSON.stringify(takeText(walker));
    case OPEN_ARRAY:
      return readArray(walker);
    case OPEN_OBJECT:
      return readObject(walker, without);
    default: {
      walker.at = endOfValue(bytes, at);
      const text = bytes.toString("latin1", at, walker.at);
      return /^[-\d]/.test(text) ? canonicalNumber(text) : text;
    }
  }
}

function readArray(walker: Walker): string {
  const elements: string[] = [];
  step(walker);
  while (walker.bytes[walker.at] !== CLOSE_ARRAY) {
    elements.push(readValue(walker, NONE));
    stepOverComma(walker);
  }
  walker.at++;
  return `[${elements.join(",")}]`;
}

function readObject(walker: Walker, without: readonly string[]): string {
  const members: (readonly [key: string, text: string])[] = [];
  step(walker);
  while (walker.bytes[walker.at] !== CLOSE_OBJECT) {
    const key = takeText(walker);
    walker.at = skipSpace(walker.bytes, walker.at);
    step(walker);
    const text = readValue(walker, NONE);
    if (!without.includes(key)) members.push([key, text]);
    stepOverComma(walker);
  }
  walker.at++;
  // By their code units, as RFC 8785 has it.
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(",")}}`;
}

const NONE: readonly string[] = [];

function takeText(walker: Walker): string {
  const start = walker.at;
  walker.at = afterString(walker.bytes, start);
  return readText(walker.bytes, start + 1, walker.at - 1);
}

/** Over one byte, and the space behind it. */
function step(walker: Walker): void {
  walker.at = skipSpace(walker.bytes, walker.at + 1);
}

function stepOverComma(walker: Walker): void {
  walker.at = skipSpace(walker.bytes, walker.at);
  if (walker.bytes[walker.at] === COMMA) step(walker);
}
