import type { Json } from "../message/json.ts";

/** A text that two JSON values share where they are equal: numbers by value, keys in any order. */
export function jsonKey(value: Json): string {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(jsonKey).join(",")}]`;
  const object = value as { readonly [key: string]: Json };
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${jsonKey(object[key])}`);
  return `{${members.join(",")}}`;
}
