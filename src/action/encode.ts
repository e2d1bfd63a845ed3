import type { Json } from "../message/json.ts";

/**
 * Compact JSON of a value, with exact integers beyond 2^53. Null if it cannot be encoded: it contains a number that is
 * not finite or something that is not a JSON value, or it is nested deeper than a message may be.
 */
export function encodeJson(value: unknown): string | null {
  try {
    return encode(value as Json, 0);
  } catch (error) {
    if (error === NO_JSON) return null;
    throw error;
  }
}

const NO_JSON = new Error("not JSON");

/** Deeper messages are refused. The limit also stops the recursion in a value that contains itself. */
const MAX_DEPTH = 128;

function encode(value: Json, depth: number): string {
  if (depth > MAX_DEPTH) throw NO_JSON;
  if (value === null) return "null";
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "boolean":
    case "bigint":
      return String(value);
    case "number":
      if (!Number.isFinite(value)) throw NO_JSON;
      return JSON.stringify(value);
    case "object":
      if (Array.isArray(value)) return `[${Array.from(value, (one: Json) => encode(one, depth + 1)).join(",")}]`;
      return encodeObject(value as { readonly [key: string]: Json }, depth);
    case "undefined":
    case "function":
    case "symbol":
      throw NO_JSON;
  }
}

function encodeObject(value: { readonly [key: string]: Json }, depth: number): string {
  // A Date or a Map would silently lose its content.
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw NO_JSON;
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    // Like JSON.stringify: a member that was removed by setting it to undefined is left out.
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${encode(member, depth + 1)}`);
  }
  return `{${members.join(",")}}`;
}
