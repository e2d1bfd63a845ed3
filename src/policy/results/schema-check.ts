import type { Json } from "../../message/json.ts";
import { PLAIN_KEYWORDS } from "./schema-plain.ts";
import {
  both,
  type Context,
  doubt,
  fail,
  type Fit,
  isObject,
  type JsonObject,
  type Keyword,
  KINDS,
  type Place,
  resolve,
  spend,
  TOO_MUCH,
} from "./schema-values.ts";

/**
 * Checks a value against a JSON Schema, from a server or from the proxy itself. It supports most keywords of the drafts
 * since draft 4. It reports the keywords that it cannot check; then the value may or may not fit.
 */
export function checkSchema(schema: Json, value: Json): SchemaCheck {
  const context: Context = { root: schema, steps: 0, misfit: null, unchecked: new Set() };
  let fit: Fit;
  try {
    fit = check(schema, value, null, 0, context);
  } catch (error) {
    if (error !== TOO_MUCH) throw error;
    context.unchecked.add("too much to check");
    fit = "unsure";
  }
  return { fit, misfit: fit === "no" ? context.misfit : null, unchecked: [...context.unchecked] };
}

/** The result of a check. */
export interface SchemaCheck {
  readonly fit: Fit;
  /** The first part that does not fit: where it is and what is wrong, without the value itself. */
  readonly misfit: string | null;
  /** The keywords that occurred and could not be checked. */
  readonly unchecked: readonly string[];
}

/** Limit for the depth of schemas, because references may be circular. */
const MAX_SCHEMA_DEPTH = 256;

/** Resolving a reference costs more than a comparison. */
const REFERENCE_STEPS = 5;

function check(schema: Json, value: Json, place: Place | null, depth: number, context: Context): Fit {
  spend(context, 1);
  if (schema === true) return "yes";
  if (schema === false) return fail(context, place, "is not allowed");
  if (!isObject(schema)) return doubt(context, "a schema that is not an object");
  if (depth > MAX_SCHEMA_DEPTH) throw TOO_MUCH;
  const at = { schema, place, depth: depth + 1, context };
  let fit: Fit = "yes";
  for (const { keyword, argument } of demandsOf(schema)) {
    fit = both(fit, keyword(argument, value, at));
    if (fit === "no") return "no";
  }
  return fit;
}

/** A keyword with its argument. */
interface Demand {
  readonly keyword: Keyword;
  readonly argument: Json;
}

/** What a schema demands. Cached, because the schema of array items is used for each item. */
function demandsOf(schema: JsonObject): readonly Demand[] {
  const known = demands.get(schema);
  if (known !== undefined) return known;
  const found: Demand[] = [];
  const { [KINDS]: kinds } = schema as { readonly [KINDS]?: JsonObject };
  if (kinds !== undefined) found.push({ keyword: checkKind, argument: kinds });
  for (const [name, argument] of Object.entries(schema)) {
    const keyword = KEYWORDS.get(name) ?? (UNCHECKED.has(name) ? doubtful(name) : undefined);
    if (keyword !== undefined) found.push({ keyword, argument });
  }
  demands.set(schema, found);
  return found;
}

const demands = new WeakMap<JsonObject, readonly Demand[]>();

function doubtful(name: string): Keyword {
  return (_, __, { context }) => doubt(context, name);
}

/** Checks an object by the shape for its `type`. Only the proxy's own schemas can use this keyword. */
const checkKind: Keyword = (kinds, value, { place, depth, context }) => {
  const type = isObject(value) ? value["type"] : undefined;
  if (type === undefined) return fail(context, place, "has no type");
  const shape = typeof type === "string" && isObject(kinds) && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (shape !== undefined) return check(shape, value, place, depth, context);
  return fail(context, { key: "type", parent: place }, "has none of the values that are allowed");
};

/** Keywords that restrict values and are not supported. All other unknown keywords do not restrict anything. */
const UNCHECKED = new Set([
  "pattern",
  "patternProperties",
  "contains",
  "minContains",
  "maxContains",
  "dependencies",
  "dependentSchemas",
  "unevaluatedItems",
  "unevaluatedProperties",
  "$dynamicRef",
  "$recursiveRef",
]);

const KEYWORDS = new Map<string, Keyword>(
  Object.entries({
    ...PLAIN_KEYWORDS,
    properties(schemas, value, { place, depth, context }) {
      if (!isObject(value)) return "yes";
      if (!isObject(schemas)) return doubt(context, "properties");
      let fit: Fit = "yes";
      for (const [name, schema] of Object.entries(schemas)) {
        if (!Object.hasOwn(value, name)) continue;
        fit = both(fit, check(schema, value[name], { key: name, parent: place }, depth, context));
        if (fit === "no") return fit;
      }
      return fit;
    },
    propertyNames(schema, value, { place, depth, context }) {
      if (!isObject(value)) return "yes";
      let fit: Fit = "yes";
      for (const name of Object.keys(value)) {
        fit = both(fit, check(schema, name, { key: name, parent: place }, depth, context));
        if (fit === "no") return fit;
      }
      return fit;
    },
    additionalProperties(additional, value, { schema, place, depth, context }) {
      if (!isObject(value) || additional === true) return "yes";
      const known = isObject(schema["properties"]) ? schema["properties"] : {};
      // A member that matches a pattern is not additional, and patterns are not checked.
      const isCertain = schema["patternProperties"] === undefined;
      let fit: Fit = "yes";
      for (const name of Object.keys(value)) {
        spend(context, 1);
        if (Object.hasOwn(known, name)) continue;
        if (!isCertain) fit = both(fit, doubt(context, "patternProperties"));
        else fit = both(fit, check(additional, value[name], { key: name, parent: place }, depth, context));
        if (fit === "no") return fit;
      }
      return fit;
    },
    prefixItems: (schemas, value, { place, depth, context }) =>
      Array.isArray(schemas) ? checkTuple(schemas, value, place, depth, context) : doubt(context, "prefixItems"),
    items(schemas, value, { schema, place, depth, context }) {
      if (!Array.isArray(value)) return "yes";
      // Before draft 2020-12 an array of schemas applied to the first items.
      if (Array.isArray(schemas)) return checkTuple(schemas, value, place, depth, context);
      const prefix = schema["prefixItems"];
      return checkItems(schemas, value, Array.isArray(prefix) ? prefix.length : 0, place, depth, context);
    },
    additionalItems(additional, value, { schema, place, depth, context }) {
      const { items } = schema;
      if (!Array.isArray(items) || !Array.isArray(value)) return "yes";
      return checkItems(additional, value, items.length, place, depth, context);
    },
    allOf(schemas, value, { place, depth, context }) {
      if (!Array.isArray(schemas)) return doubt(context, "allOf");
      let fit: Fit = "yes";
      for (const schema of schemas) {
        fit = both(fit, check(schema, value, place, depth, context));
        if (fit === "no") return fit;
      }
      return fit;
    },
    anyOf(schemas, value, { place, depth, context }) {
      if (!Array.isArray(schemas)) return doubt(context, "anyOf");
      let fit: Fit = "no";
      for (const schema of schemas) {
        const each = tryOut(schema, value, place, depth, context);
        if (each === "yes") return "yes";
        if (each === "unsure") fit = "unsure";
      }
      return fit === "no" ? fail(context, place, "fits none of the kinds that are allowed") : fit;
    },
    oneOf(schemas, value, { place, depth, context }) {
      if (!Array.isArray(schemas)) return doubt(context, "oneOf");
      const fits = schemas.map((schema) => tryOut(schema, value, place, depth, context));
      const sure = fits.filter((fit) => fit === "yes").length;
      if (sure > 1) return fail(context, place, "fits more than one of the kinds that are allowed");
      if (fits.includes("unsure")) return "unsure";
      return sure === 1 ? "yes" : fail(context, place, "fits none of the kinds that are allowed");
    },
    not(schema, value, { place, depth, context }) {
      const fit = tryOut(schema, value, place, depth, context);
      if (fit === "yes") return fail(context, place, "is of a kind that is not allowed");
      return fit === "no" ? "yes" : "unsure";
    },
    if(condition, value, { schema, place, depth, context }) {
      const { then: consequence = true, else: alternative = true } = schema;
      const fit = tryOut(condition, value, place, depth, context);
      if (fit === "yes") return check(consequence, value, place, depth, context);
      if (fit === "no") return check(alternative, value, place, depth, context);
      const either = [consequence, alternative].map((branch) => tryOut(branch, value, place, depth, context));
      if (either.every((each) => each === "yes")) return "yes";
      return either.every((each) => each === "no") ? fail(context, place, "fits neither of two kinds") : "unsure";
    },
    $ref(reference, value, { place, depth, context }) {
      spend(context, REFERENCE_STEPS);
      const schema = typeof reference === "string" ? resolve(reference, context.root) : undefined;
      return schema === undefined ? doubt(context, "$ref") : check(schema, value, place, depth, context);
    },
  } satisfies Record<string, Keyword>),
);

function checkTuple(schemas: readonly Json[], value: Json, place: Place | null, depth: number, context: Context): Fit {
  if (!Array.isArray(value)) return "yes";
  let fit: Fit = "yes";
  for (let index = 0; index < Math.min(schemas.length, value.length); index++) {
    fit = both(fit, check(schemas[index], value[index] as Json, { key: index, parent: place }, depth, context));
    if (fit === "no") return fit;
  }
  return fit;
}

function checkItems(
  schema: Json,
  items: readonly Json[],
  from: number,
  place: Place | null,
  depth: number,
  context: Context,
): Fit {
  let fit: Fit = "yes";
  for (let index = from; index < items.length; index++) {
    fit = both(fit, check(schema, items[index], { key: index, parent: place }, depth, context));
    if (fit === "no") return fit;
  }
  return fit;
}

/** Checks a value that does not have to fit: a failure is not recorded as a misfit. */
function tryOut(schema: Json, value: Json, place: Place | null, depth: number, context: Context): Fit {
  const { misfit } = context;
  const fit = check(schema, value, place, depth, context);
  context.misfit = misfit;
  return fit;
}
