import { showText } from "../../message/text.ts";
import type { Json } from "../rules/rule.ts";

/** Whether a value fits a schema. Unsure where something stands in the schema that is not known here. */
export type Fit = "yes" | "no" | "unsure";

/** How much is done for one value: half a second's worth at the most. What is not checked by then is not checked. */
export const MAX_STEPS = 500_000;

/** Thrown when that is used up. */
export const TOO_MUCH = new Error("too much to check");

/** A check that is under way. */
export interface Context {
  readonly root: Json;
  steps: number;
  misfit: string | null;
  readonly unchecked: Set<string>;
}

/** Where a value stands, from the inside out. */
export interface Place {
  readonly key: string | number;
  readonly parent: Place | null;
}

/** An object of JSON. */
export type JsonObject = { readonly [key: string]: Json };

/** A keyword that no server can write: a shape for each `type` that an object may have. */
export const KINDS = Symbol("kinds");

/** What a keyword demands. */
export type Keyword = (
  argument: Json,
  value: Json,
  at: { readonly schema: JsonObject; readonly place: Place | null; readonly depth: number; readonly context: Context },
) => Fit;

/** Whether a value is of a type. */
export const TYPES: Record<string, (value: Json) => boolean> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isObject,
};

/** What types are called. */
export const NOUNS: Record<string, string> = {
  string: "text",
  number: "a number",
  integer: "an integer",
  boolean: "true or false",
  null: "null",
  array: "a list",
  object: "an object",
};

/** The length of a text in characters, not in units of UTF-16. */
export function lengthOf(value: Json, context: Context): number | null {
  if (typeof value !== "string") return null;
  spend(context, Math.ceil(value.length / CHARACTERS_A_STEP));
  let length = 0;
  for (let at = 0; at < value.length; at++) if ((value.charCodeAt(at) & 0xfc00) !== 0xdc00) length++;
  return length;
}

const CHARACTERS_A_STEP = 100;

/** The number of items of a list; null for what is not a list. */
export function itemsOf(value: Json): number | null {
  return Array.isArray(value) ? value.length : null;
}

/** The number of members of an object; null for what is not an object. */
export function membersOf(value: Json): number | null {
  return isObject(value) ? Object.keys(value).length : null;
}

/** A schema in the same document: the whole of it, or what a JSON Pointer leads to. Undefined where it is elsewhere. */
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

/** Whether a value fits that has to fit twice. */
export function both(one: Fit, other: Fit): Fit {
  if (one === "no" || other === "no") return "no";
  return one === "unsure" || other === "unsure" ? "unsure" : "yes";
}

/** Notes that something was done. Throws where that was too much. */
export function spend(context: Context, steps: number): void {
  context.steps += steps;
  if (context.steps > MAX_STEPS) throw TOO_MUCH;
}

/** Notes that something could not be checked. */
export function doubt(context: Context, keyword: string): Fit {
  context.unchecked.add(keyword);
  return "unsure";
}

/** Notes what does not fit, unless something was noted before. */
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

/** Whether two values are the same. */
export function isEqual(one: Json, other: Json, context: Context): boolean {
  if (typeof one !== "object" || one === null) {
    spend(context, 1);
    return one === other;
  }
  return typeof other === "object" && other !== null && canonical(one, context) === canonical(other, context);
}

/** One text for values that are equal: the members of objects in order. */
export function canonical(value: Json, context: Context): string {
  spend(context, 1);
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonical(item, context)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key], context)}`);
  return `{${members.join(",")}}`;
}

/** Whether a value is an object, and not a list. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
