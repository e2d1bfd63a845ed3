import { afterString, endOfValue, skipSpace } from "../message/members.ts";
import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA } from "../message/characters.ts";
import { readText } from "../message/text.ts";
import { kindAt, type Part } from "./fields.ts";
import type { Json } from "../message/json.ts";

/**
 * A value as expressions see it. Integers are bigints. Objects are maps, because the engine distinguishes values by
 * their `constructor`, and a message may have a member of that name.
 */
export type CelValue = null | boolean | bigint | number | string | CelValue[] | Map<string, CelValue>;

/** A value, with the length of its longest list or map and the length of its longest string. */
export interface Measured {
  readonly value: CelValue;
  readonly widest: number;
  readonly longest: number;
}

/** Reads a part of a message as a CEL value. The bytes must have been validated. */
export function readCelValue({ bytes, start }: Part): Measured {
  let at = start;
  let widest = 0;
  let longest = 0;

  function read(): CelValue {
    const begins = at;
    switch (kindAt(bytes, at)) {
      case "object":
        return readObject();
      case "array":
        return readArray();
      case "string":
        at = afterString(bytes, at);
        longest = Math.max(longest, at - begins);
        return readText(bytes, begins + 1, at - 1);
      case "null":
        at += 4;
        return null;
      case "boolean":
        at = endOfValue(bytes, at);
        return at - begins === 4;
      case "number":
        at = endOfValue(bytes, at);
        return readNumber(bytes.toString("latin1", begins, at));
    }
  }

  function readObject(): CelValue {
    const value = new Map<string, CelValue>();
    for (at = skipSpace(bytes, at + 1); bytes[at] !== CLOSE_OBJECT;) {
      const begins = at;
      at = afterString(bytes, at);
      const key = readText(bytes, begins + 1, at - 1);
      at = skipSpace(bytes, skipSpace(bytes, at) + 1);
      value.set(key, read());
      step();
    }
    at++;
    widest = Math.max(widest, value.size);
    return value;
  }

  function readArray(): CelValue {
    const value: CelValue[] = [];
    for (at = skipSpace(bytes, at + 1); bytes[at] !== CLOSE_ARRAY;) {
      value.push(read());
      step();
    }
    at++;
    widest = Math.max(widest, value.length);
    return value;
  }

  function step(): void {
    at = skipSpace(bytes, at);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }

  const value = read();
  return { value, widest, longest };
}

/**
 * A number without fraction and exponent is an integer if it fits into a CEL int (64 bits). Any other number is a
 * double.
 */
function readNumber(text: string): number | bigint {
  if (text.length > MAX_INT_CHARACTERS || !/^-?\d+$/.test(text)) return Number(text);
  const integer = BigInt(text);
  return integer >= -(2n ** 63n) && integer < 2n ** 63n ? integer : Number(text);
}

const MAX_INT_CHARACTERS = 20;

/** Converts a value of the proxy itself to a CEL value. */
export function toCelValue(value: Json): CelValue {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(toCelValue);
  return new Map(Object.entries(value).map(([key, member]) => [key, toCelValue(member)]));
}
