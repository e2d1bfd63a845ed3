import { NINE, ZERO } from "../message/characters.ts";
import { Unjudgeable } from "./unjudgeable.ts";

/**
 * A number by its value, whatever its spelling: sign × 0.digits × 10^point. The digits have no zeros
 * at either end; zero has none at all. Nothing is rounded.
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

/** A whole number above zero that is not long: most are such. */
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

/** The value of a number as a policy file gives it. */
export function decimalOf(value: number | bigint): Decimal {
  return readDecimal(String(value));
}

/** Below zero when the first is less, above zero when it is more. */
export function compareDecimals(one: Decimal, other: Decimal): number {
  if (one.sign !== other.sign) return one.sign - other.sign;
  if (one.point !== other.point) return one.point < other.point ? -one.sign : one.sign;
  if (one.digits === other.digits) return 0;
  // Fractions behind the same point: the longer one is more where it begins like the shorter one.
  return one.digits < other.digits ? -one.sign : one.sign;
}

const NOUGHT: Decimal = { sign: 0, digits: "", point: 0 };

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

// Integers of so many characters are numbers of ours without loss.
const MAX_PLAIN = 15;

/** Exponents with more digits are not compared: nobody reads such a number as anything but infinite or zero. */
const MAX_EXPONENT_DIGITS = 14;

function readExponent(text: string): number {
  const digits = text.replace(/^[+-]?0*/, "");
  if (digits.length > MAX_EXPONENT_DIGITS) throw new Unjudgeable("a number whose exponent is out of all bounds");
  return text.startsWith("-") ? -Number(digits) : Number(digits);
}

function refuse(text: string): never {
  throw new Error(`not a number: ${text.slice(0, 40)}`);
}
