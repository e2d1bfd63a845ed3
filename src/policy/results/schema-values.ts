import { showText } from "../../message/text.ts";
import type { Json } from "../../message/json.ts";

/** Whether a value fits a schema. Unsure if the schema contains something that cannot be checked. */
export type Fit = "yes" | "no" | "unsure";

/** Limit for the steps of one check, which take half a second at most. The rest of the value is not checked. */
export const MAX_STEPS = 500_000;

/** Thrown when MAX_STEPS is exceeded. */
export const TOO_MUCH = new Error("too much to check");

/** The state of a running check. */
export interface Context {
  readonly root: Json;
  steps: number;
  misfit: string | null;
  readonly unchecked: Set<string>;
}

/** Where a value is: its key, and the place of its parent. */
export interface Place {
  readonly key: string | number;
  readonly parent: Place | null;
}

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

/**
 * A keyword with a shape for each `type` of an object. It is a symbol, so that the schema of a server cannot contain
 * it.
 */
export const KINDS = Symbol("kinds");

/** Checks a value against one keyword. */
export type Keyword = (
  argument: Json,
  value: Json,
  at: { readonly schema: JsonObject; readonly place: Place | null; readonly depth: number; readonly context: Context },
) => Fit;

/** Tests for the types of JSON Schema. */
export const TYPES: Record<string, (value: Json) => boolean> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isObject,
};

/** The names of the types in error messages. */
export const NOUNS: Record<string, string> = {
  string: "text",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  null: "null",
  array: "a list",
  object: "an object",
};

/** The length of a string in code points, not in UTF-16 units. Null for other values. */
export function lengthOf(value: Json, context: Context): number | null {
  if (typeof value !== "string") return null;
  spend(context, Math.ceil(value.length / CHARACTERS_A_STEP));
  let length = 0;
  for (let at = 0; at < value.length; at++) if ((value.charCodeAt(at) & 0xfc00) !== 0xdc00) length++;
  return length;
}

const CHARACTERS_A_STEP = 100;

/** The number of items of an array. Null for other values. */
export function itemsOf(value: Json): number | null {
  return Array.isArray(value) ? value.length : null;
}

/** The number of members of an object. Null for other values. */
export function membersOf(value: Json): number | null {
  return isObject(value) ? Object.keys(value).length : null;
}

/** Resolves a reference to the whole document, or by JSON Pointer to a part of it. Undefined if it is not there. */
export function resolve(reference: string, root: Json): Json | undefined {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let found: Json = root;
  for (const part of reference.slice(2).split("/")) {
    let key: string;
    try {
      key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    } catch {
      return undefined;
    }
    if (Array.isArray(found) && /^\d{1,6}$/.test(key)) found = (found as Json[])[Number(key)];
    else if (isObject(found) && Object.hasOwn(found, key)) found = found[key];
    else return undefined;
    if (found === undefined) return undefined;
  }
  return found;
}

/** Combines two results that must both be "yes". */
export function both(one: Fit, other: Fit): Fit {
  if (one === "no" || other === "no") return "no";
  return one === "unsure" || other === "unsure" ? "unsure" : "yes";
}

/** Counts steps. Throws TOO_MUCH if there are more than MAX_STEPS. */
export function spend(context: Context, steps: number): void {
  context.steps += steps;
  if (context.steps > MAX_STEPS) throw TOO_MUCH;
}

/** Records that a keyword could not be checked. */
export function doubt(context: Context, keyword: string): Fit {
  context.unchecked.add(keyword);
  return "unsure";
}

/** Records what does not fit, unless something was recorded before. */
export function fail(context: Context, place: Place | null, why: string): Fit {
  context.misfit ??= `${showPlace(place)} ${why}`;
  return "no";
}

function showPlace(place: Place | null): string {
  const keys: (string | number)[] = [];
  for (let at = place; at !== null && keys.length < MAX_SHOWN_KEYS; at = at.parent) keys.unshift(at.key);
  const text = keys.map((key) => (typeof key === "number" ? `[${key}]` : `.${showText(key, 40)}`)).join("");
  return text === "" ? "it" : text.replace(/^\./, "");
}

const MAX_SHOWN_KEYS = 10;

/** Whether two values are equal. */
export function isEqual(one: Json, other: Json, context: Context): boolean {
  if (typeof one !== "object" || one === null) {
    spend(context, 1);
    return one === other;
  }
  return typeof other === "object" && other !== null && canonical(one, context) === canonical(other, context);
}

/** A text that is the same for equal values: members are sorted by key. */
export function canonical(value: Json, context: Context): string {
  spend(context, 1);
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonical(item, context)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key], context)}`);
  return `{${members.join(",")}}`;
}

/** Whether a value is an object, and not an array. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
