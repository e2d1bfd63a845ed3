import { NINE, ZERO } from "../message/characters.ts";
import { Unjudgeable } from "./unjudgeable.ts";

/**
 * The exact value of a number, whatever its spelling: sign × 0.digits × 10^point. The digits have no zeros at either
 * end; for zero they are empty.
 */
export interface Decimal {
  readonly sign: -1 | 0 | 1;
  readonly digits: string;
  readonly point: number;
}

/** The value of a JSON number, given its text. */
export function readDecimal(text: string): Decimal {
  return readPlain(text) ?? readAny(text);
}

/** Fast path for a short positive integer, which most numbers are. */
function readPlain(text: string): Decimal | null {
  const { length } = text;
  if (length > MAX_PLAIN) return null;
  let last = 0;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code < ZERO || code > NINE) return null;
    if (code !== ZERO) last = at + 1;
  }
  return last === 0 || text.charCodeAt(0) === ZERO ? null : { sign: 1, digits: text.slice(0, last), point: length };
}

function readAny(text: string): Decimal {
  const [, minus, whole, fraction = "", exponent = "0"] = NUMBER.exec(text) ?? refuse(text);
  const all = whole + fraction;
  let first = 0;
  while (first < all.length && all[first] === "0") first++;
  if (first === all.length) return NOUGHT;
  let last = all.length;
  while (all[last - 1] === "0") last--;
  const point = whole.length - first + readExponent(exponent);
  return { sign: minus === "-" ? -1 : 1, digits: all.slice(first, last), point };
}

/** The value of a number in a policy file. */
export function decimalOf(value: number | bigint): Decimal {
  return readDecimal(String(value));
}

/** Negative if the first number is less, positive if it is greater, otherwise zero. */
export function compareDecimals(one: Decimal, other: Decimal): number {
  if (one.sign !== other.sign) return one.sign - other.sign;
  if (one.point !== other.point) return one.point < other.point ? -one.sign : one.sign;
  if (one.digits === other.digits) return 0;
  // Both are fractions after the same point, so they compare like strings: a longer one is greater than its prefix.
  return one.digits < other.digits ? -one.sign : one.sign;
}

const NOUGHT: Decimal = { sign: 0, digits: "", point: 0 };

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

// Integers with this many characters are exact in a double.
const MAX_PLAIN = 15;

/** Numbers with longer exponents are not compared: every reader takes them for infinite or zero. */
const MAX_EXPONENT_DIGITS = 14;

function readExponent(text: string): number {
  const digits = text.replace(/^[+-]?0*/, "");
  if (digits.length > MAX_EXPONENT_DIGITS) throw new Unjudgeable("a number whose exponent is out of all bounds");
  return text.startsWith("-") ? -Number(digits) : Number(digits);
}

function refuse(text: string): never {
  throw new Error(`not a number: ${text.slice(0, 40)}`);
}
