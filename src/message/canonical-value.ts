import { canonicalNumber } from "./canonical-number.ts";
import type { Json } from "./json.ts";

/** The canonical text of a parsed value: the same text that `canonicalText` makes from its JSON. */
export function canonicalValue(value: Json): string {
  if (typeof value === "number" || typeof value === "bigint") return canonicalNumber(String(value));
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalValue).join(",")}]`;
  const object = value as { readonly [key: string]: Json };
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalValue(object[key])}`);
  return `{${members.join(",")}}`;
}
