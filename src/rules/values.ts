import type { Span } from "../message/envelope.ts";
import { eachElement, eachMember } from "../message/members.ts";
import { decimalIn, kindAt, numberAt, type Seen, spanOf, textAt, textOf } from "./fields.ts";
import { compareDecimals, type Decimal, decimalOf, readDecimal } from "./numbers.ts";
import type { Json } from "../message/json.ts";

/** Whether the value at a place in validated bytes is a certain one. */
export type ValueTest = (bytes: Buffer, span: Span) => boolean;

/** Whether a value that has been looked up is a certain one. */
export type SeenTest = (seen: Seen) => boolean;

/** The same as `equalTo` for a value that has been looked up: what is made of it is not made anew for each rule. */
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

/** Whether it is any of these. Texts are looked up, all else is compared one by one. */
export function isAnyOf(values: readonly Json[]): SeenTest {
  const list = values.filter((value) => typeof value === "string");
  // To find a text in a set it has to be hashed first, and it is new with every message.
  const texts = list.length > FEW ? new Set(list) : null;
  const tests = values.filter((value) => typeof value !== "string").map(isValue);
  return (seen) => {
    const text = list.length === 0 ? null : textOf(seen);
    if (text === null) return tests.some((test) => test(seen));
    return texts === null ? list.includes(text) : texts.has(text);
  };
}

/** So many texts are compared one by one. */
const FEW = 4;

/**
 * Makes a test for equality with a JSON value: numbers by value and exact, strings by their text,
 * objects whatever the order of their members.
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
  // Every character of ours takes one to six bytes: most strings are told apart by their length.
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
    // No key stands twice: as many members, each of them known and equal, are all of them.
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
