import type { ScalarNode } from "./node.ts";

/** The value of a plain scalar in the core schema of YAML 1.2, where `yes`, `no`, `on` and `off` are text. */
export function resolvePlain(text: string): ScalarNode["value"] {
  const first = text.charCodeAt(0);
  // Fast path: most scalars begin with a character that cannot begin a number.
  if (first > 0x39 && !WORDS.has(text)) return text;
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (text === "") return null;
  return resolveNumber(text) ?? text;
}

/** The number that a text spells, or null. */
function resolveNumber(text: string): number | bigint | null {
  if (/^[-+]?\d+$/.test(text) || /^0(?:o[0-7]+|x[\da-fA-F]+)$/.test(text)) {
    if (text.length > MAX_DIGITS) return Infinity;
    const value = Number(text);
    if (Number.isSafeInteger(value)) return value;
    return BigInt(text.startsWith("+") ? text.slice(1) : text);
  }
  if (/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text)) return Number(text);
  if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return /^\.(?:nan|NaN|NAN)$/.test(text) ? NaN : null;
}

/** Parsing a longer number would take too long. */
const MAX_DIGITS = 400;

const WORDS = new Map<string, null | boolean>([
  ...["null", "Null", "NULL", "~"].map((word) => [word, null] as const),
  ...["true", "True", "TRUE"].map((word) => [word, true] as const),
  ...["false", "False", "FALSE"].map((word) => [word, false] as const),
]);

/** The value of a tagged scalar; undefined if the text does not fit the tag. */
export function resolveTagged(tag: string, text: string): ScalarNode["value"] | undefined {
  if (tag === "!!str" || tag === "!") return text;
  const plain = resolvePlain(text);
  if (tag === "!!null") return plain === null ? null : undefined;
  if (tag === "!!bool") return typeof plain === "boolean" ? plain : undefined;
  return tag === "!!int" || tag === "!!float" ? (resolveNumber(text) ?? undefined) : undefined;
}
