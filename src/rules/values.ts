import type { Span } from "../message/envelope.ts";
import { eachElement, eachMember } from "../message/members.ts";
import { decimalIn, kindAt, numberAt, type Seen, spanOf, textAt, textOf } from "./fields.ts";
import { compareDecimals, type Decimal, decimalOf, readDecimal } from "./numbers.ts";
import type { Json } from "../message/json.ts";

/** Tests the value at a span in validated bytes. */
export type ValueTest = (bytes: Buffer, span: Span) => boolean;

/** Tests a value that has been looked up. */
export type SeenTest = (seen: Seen) => boolean;

/** The same as `equalTo` for a value that has been looked up, so that it is decoded once for all rules. */
export function isValue(value: Json): SeenTest {
  if (typeof value === "string") return (seen) => textOf(seen) === value;
  if (typeof value === "number" || typeof value === "bigint") {
    const wanted = decimalOf(value);
    return (seen) => {
      const decimal = decimalIn(seen);
      return decimal !== null && compareDecimals(decimal, wanted) === 0;
    };
  }
  const test = equalTo(value);
  return (seen) => test(seen.bytes, spanOf(seen));
}

/** Whether a value is any of these. Strings may be found in a set; other values are compared one by one. */
export function isAnyOf(values: readonly Json[]): SeenTest {
  const list = values.filter((value) => typeof value === "string");
  // A set lookup has to hash the string first, and every message brings a new string.
  const texts = list.length > FEW ? new Set(list) : null;
  const tests = values.filter((value) => typeof value !== "string").map(isValue);
  return (seen) => {
    const text = list.length === 0 ? null : textOf(seen);
    if (text === null) return tests.some((test) => test(seen));
    return texts === null ? list.includes(text) : texts.has(text);
  };
}

/** Up to this many strings are compared one by one. */
const FEW = 4;

/**
 * Creates a test for equality with a JSON value: numbers by their exact value, strings by their text, objects
 * regardless of the order of their members.
 */
export function equalTo(value: Json): ValueTest {
  if (value === null) return (bytes, span) => kindAt(bytes, span.start) === "null";
  if (typeof value === "string") return (bytes, span) => isString(bytes, span, value);
  if (typeof value === "boolean") {
    const first = (value ? "t" : "f").charCodeAt(0);
    return (bytes, span) => bytes[span.start] === first;
  }
  if (typeof value === "number" || typeof value === "bigint") {
    const decimal = decimalOf(value);
    return (bytes, span) => isNumber(bytes, span, decimal);
  }
  return Array.isArray(value) ? equalToArray(value) : equalToObject(value as { readonly [key: string]: Json });
}

function isString(bytes: Buffer, span: Span, text: string): boolean {
  // A UTF-16 code unit takes one to six bytes in JSON, so most strings differ already in length.
  const length = span.end - span.start - 2;
  return length >= text.length && length <= 6 * text.length && textAt(bytes, span) === text;
}

function isNumber(bytes: Buffer, span: Span, decimal: Decimal): boolean {
  const text = numberAt(bytes, span);
  return text !== null && compareDecimals(readDecimal(text), decimal) === 0;
}

function equalToArray(values: readonly Json[]): ValueTest {
  const tests = values.map(equalTo);
  return (bytes, span) => {
    if (kindAt(bytes, span.start) !== "array") return false;
    let nth = 0;
    let isEqual = true;
    eachElement(bytes, span, (start, end) => {
      isEqual = nth < tests.length && tests[nth](bytes, { start, end });
      nth++;
      return isEqual;
    });
    return isEqual && nth === tests.length;
  };
}

function equalToObject(value: { readonly [key: string]: Json }): ValueTest {
  const tests = new Map(Object.entries(value).map(([key, member]) => [key, equalTo(member)]));
  return (bytes, span) => {
    if (kindAt(bytes, span.start) !== "object") return false;
    // No key occurs twice, so an equal count of known and equal members means that all are equal.
    let count = 0;
    let isEqual = true;
    eachMember(bytes, span, (key, member) => {
      if (!isEqual) return;
      count++;
      isEqual = tests.get(key)?.(bytes, member) ?? false;
    });
    return isEqual && count === tests.size;
  };
}
