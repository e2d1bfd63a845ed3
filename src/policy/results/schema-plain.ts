import type { Json } from "../../message/json.ts";
import {
  canonical,
  type Context,
  doubt,
  fail,
  isEqual,
  isObject,
  itemsOf,
  type Keyword,
  lengthOf,
  membersOf,
  NOUNS,
  spend,
  TYPES,
} from "./schema-values.ts";

/** The keywords that do not apply schemas to the parts of a value. */
export const PLAIN_KEYWORDS = {
  type(types, value, { place, context }) {
    const names = Array.isArray(types) ? types : [types];
    if (!names.every((name) => typeof name === "string" && name in TYPES)) return doubt(context, "type");
    if (names.some((name) => TYPES[name as string](value))) return "yes";
    return fail(context, place, `is not ${names.map((name) => NOUNS[name as string]).join(" or ")}`);
  },
  const: (wanted, value, { place, context }) =>
    isEqual(wanted, value, context) ? "yes" : fail(context, place, "has another value than the only one allowed"),
  enum(values, value, { place, context }) {
    if (!Array.isArray(values)) return doubt(context, "enum");
    if (values.some((wanted) => isEqual(wanted, value, context))) return "yes";
    return fail(context, place, "has none of the values that are allowed");
  },
  minimum: numeric("minimum", (value, limit) => value >= limit),
  maximum: numeric("maximum", (value, limit) => value <= limit),
  exclusiveMinimum: numeric("exclusiveMinimum", (value, limit) => value > limit),
  exclusiveMaximum: numeric("exclusiveMaximum", (value, limit) => value < limit),
  multipleOf(factor, value, { place, context }) {
    if (typeof value !== "number") return "yes";
    if (typeof factor !== "number" || factor <= 0) return doubt(context, "multipleOf");
    if (value % factor === 0) return "yes";
    // Fractions are not exact in binary: 0.3 % 0.1 is not 0.
    const isExact = Number.isSafeInteger(value) && Number.isSafeInteger(factor);
    return isExact ? fail(context, place, "is not a multiple of what it must be") : doubt(context, "multipleOf");
  },
  minLength: sized("minLength", lengthOf, (length, limit) => length >= limit, "is too short"),
  maxLength: sized("maxLength", lengthOf, (length, limit) => length <= limit, "is too long"),
  minItems: sized("minItems", itemsOf, (length, limit) => length >= limit, "has too few items"),
  maxItems: sized("maxItems", itemsOf, (length, limit) => length <= limit, "has too many items"),
  minProperties: sized("minProperties", membersOf, (length, limit) => length >= limit, "has too few members"),
  maxProperties: sized("maxProperties", membersOf, (length, limit) => length <= limit, "has too many members"),
  uniqueItems(wanted, value, { place, context }) {
    if (wanted !== true || !Array.isArray(value)) return "yes";
    const texts = new Set(value.map((item) => canonical(item, context)));
    return texts.size === value.length ? "yes" : fail(context, place, "has the same item twice");
  },
  required(names, value, { place, context }) {
    if (!isObject(value)) return "yes";
    if (!Array.isArray(names)) return doubt(context, "required");
    spend(context, names.length);
    const missing = names.find((name) => typeof name !== "string" || !Object.hasOwn(value, name));
    if (missing === undefined) return "yes";
    return typeof missing === "string"
      ? fail(context, { key: missing, parent: place }, "is missing")
      : doubt(context, "required");
  },
  dependentRequired(needs, value, { place, context }) {
    if (!isObject(value)) return "yes";
    if (!isObject(needs)) return doubt(context, "dependentRequired");
    for (const [name, names] of Object.entries(needs)) {
      if (!Object.hasOwn(value, name) || !Array.isArray(names)) continue;
      spend(context, names.length);
      const missing = names.find((other) => typeof other === "string" && !Object.hasOwn(value, other));
      if (missing !== undefined) return fail(context, { key: String(missing), parent: place }, "is missing");
    }
    return "yes";
  },
} satisfies Record<string, Keyword>;

function numeric(name: string, isRight: (value: number, limit: number) => boolean): Keyword {
  return (limit, value, { place, context }) => {
    if (typeof value !== "number") return "yes";
    // In draft 4 `exclusiveMinimum` and `exclusiveMaximum` were booleans that modified another keyword.
    if (typeof limit !== "number") return doubt(context, name);
    return isRight(value, limit) ? "yes" : fail(context, place, "is out of range");
  };
}

function sized(
  name: string,
  sizeOf: (value: Json, context: Context) => number | null,
  isRight: (size: number, limit: number) => boolean,
  why: string,
): Keyword {
  return (limit, value, { place, context }) => {
    const size = sizeOf(value, context);
    if (size === null) return "yes";
    if (typeof limit !== "number") return doubt(context, name);
    return isRight(size, limit) ? "yes" : fail(context, place, why);
  };
}
