import type { Steps } from "../text/path.ts";
import type { AmountField, BodyField, TextField, WordField } from "./fields.ts";

/**
 * What a filter asks about a row: a message, or a request with its answer. A row may be an array, an
 * object or one cursor that moves over many; nothing is copied out of it.
 *
 * Null means that the row does not have it. Undefined means that nobody knows, because the bytes were
 * not kept: then the row is neither among those that fit nor among those that do not.
 */
export interface FilterRow {
  /** The text of a field. `rule` is the bare id of the rule. */
  text(field: Exclude<TextField, BodyField>): string | null | undefined;
  /** The word of a field, in small letters. */
  word(field: Exclude<WordField, "is">): string | null | undefined;
  /** Whether it is in the state that `is:` names. */
  is(state: string): boolean | undefined;
  /** Milliseconds, bytes or a plain number. `time` is in milliseconds since 1970. */
  amount(field: AmountField): number | null | undefined;
  /** What stands at this place in the arguments or the result, as `textAt` gives it; for `text`, both as a whole. */
  body(part: BodyField, path: Steps): string | null | undefined;
  /** What the row shows, for bare words. */
  shown(): string | null | undefined;
}

/**
 * The text at a place in a JSON value, for `FilterRow.body`: a string is itself, everything else its
 * JSON text, and what is not there is null.
 */
export function textAt(value: unknown, path: Steps): string | null {
  let found = value;
  for (const step of path) {
    if (typeof found !== "object" || found === null) return null;
    // An index may be the key of an object; a key is never an index, as in rules.
    if (Array.isArray(found) ? typeof step === "string" : !Object.hasOwn(found, step)) return null;
    found = (found as Record<string | number, unknown>)[step];
  }
  if (typeof found === "string") return found;
  return found === undefined ? null : JSON.stringify(found);
}
