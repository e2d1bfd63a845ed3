/** A part of a JSON Schema from a server. */
export type SchemaPart = unknown;

/**
 * What a schema says about a member: its types, null if it may have any type, or "unknown" if there is no such member.
 */
export type Described = { readonly types: ReadonlySet<string> | null } | "unknown";

/** How deep references are followed, because a schema may refer to itself. */
const MAX_DEPTH = 32;

/** What the input schema of a tool says about the value at a path. */
export function describeMember(schema: SchemaPart, steps: readonly (string | number)[]): Described {
  return describe(schema, schema, steps, MAX_DEPTH);
}

function describe(root: SchemaPart, part: SchemaPart, steps: readonly (string | number)[], depth: number): Described {
  if (depth === 0 || !isObject(part)) return part === false ? "unknown" : ANYTHING;
  if (typeof part["$ref"] === "string") {
    const target = followReference(root, part["$ref"]);
    return target === undefined ? ANYTHING : describe(root, target, steps, depth - 1);
  }
  const parts = ["anyOf", "oneOf", "allOf"].flatMap((key) => listOf(part[key]));
  if (parts.length > 0) {
    const own = hasShape(part) ? [{ ...part, anyOf: undefined, oneOf: undefined, allOf: undefined }] : [];
    return join([...parts, ...own].map((each) => describe(root, each, steps, depth - 1)));
  }
  const [step, ...rest] = steps;
  if (step === undefined) return { types: typesOf(part) };
  if (typeof step === "number" && (part["items"] !== undefined || part["prefixItems"] !== undefined)) {
    return describe(root, listOf(part["prefixItems"])[step] ?? part["items"], rest, depth - 1);
  }
  const properties = part["properties"];
  if (isObject(properties) && Object.hasOwn(properties, step)) {
    return describe(root, properties[step], rest, depth - 1);
  }
  // A member that is not described may still exist if the schema allows it or describes no members.
  if (isObject(part["patternProperties"]) || isObject(part["additionalProperties"])) return ANYTHING;
  if (part["additionalProperties"] === true || !isObject(properties)) return hasShape(part) ? ofType(part) : ANYTHING;
  return "unknown";
}

const ANYTHING: Described = { types: null };

/** A member of a value of this type. Only objects and arrays have members. */
function ofType(part: Readonly<Record<string, unknown>>): Described {
  const types = typesOf(part);
  return types === null || types.has("object") || types.has("array") ? ANYTHING : "unknown";
}

function hasShape(part: Readonly<Record<string, unknown>>): boolean {
  return part["type"] !== undefined || part["properties"] !== undefined || part["items"] !== undefined;
}

function join(all: readonly Described[]): Described {
  const known = all.flatMap((each) => (each === "unknown" ? [] : [each.types]));
  if (known.length === 0) return "unknown";
  return { types: known.includes(null) ? null : new Set(known.flatMap((types) => Array.from(types ?? []))) };
}

function typesOf(part: Readonly<Record<string, unknown>>): ReadonlySet<string> | null {
  const { type } = part;
  if (typeof type === "string") return new Set([type]);
  const types = listOf(type).filter((each) => typeof each === "string");
  return types.length === 0 ? null : new Set(types);
}

/** Follows references within the schema only. Nothing is fetched. */
function followReference(root: SchemaPart, reference: string): SchemaPart {
  if (!reference.startsWith("#")) return undefined;
  let part: unknown = root;
  for (const step of reference.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isObject(part) || !Object.hasOwn(part, key)) return undefined;
    part = part[key];
  }
  return part;
}

/** The names of the members that a schema describes. */
export function memberNames(schema: SchemaPart): string[] {
  return isObject(schema) && isObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
