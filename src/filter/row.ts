import type { Steps } from "../text/path.ts";
import type { AmountField, BodyField, TextField, WordField } from "./fields.ts";

/**
 * What a filter reads of a row: a message, or a request with its response. An implementation may be one cursor that
 * moves over many rows, so that no row has to be copied.
 *
 * Null means that the row does not have the value. Undefined means that the value is not known because the bytes were
 * not kept: the row then neither matches nor fails to match.
 */
export interface FilterRow {
  /** The text of a field. `rule` is the id of the rule without a prefix. */
  text(field: Exclude<TextField, BodyField>): string | null | undefined;
  /** The word of a field, in lower case. */
  word(field: Exclude<WordField, "is">): string | null | undefined;
  /** Whether the row is in a state of `is:`. */
  is(state: string): boolean | undefined;
  /** Milliseconds, bytes or a plain number. `time` is in milliseconds since 1970. */
  amount(field: AmountField): number | null | undefined;
  /** The value at a path in the arguments or the result, in the form of `textAt`; for `text`, both as a whole. */
  body(part: BodyField, path: Steps): string | null | undefined;
  /** The visible text of the row, for bare words. */
  shown(): string | null | undefined;
}

/**
 * The text at a path in a JSON value, for `FilterRow.body`: a string is returned as it is, any other value as JSON, and
 * a missing one as null.
 */
export function textAt(value: unknown, path: Steps): string | null {
  let found = value;
  for (const step of path) {
    if (typeof found !== "object" || found === null) return null;
    // As in rules, a number may be the key of an object, but a string is never an index.
    if (Array.isArray(found) ? typeof step === "string" : !Object.hasOwn(found, step)) return null;
    found = (found as Record<string | number, unknown>)[step];
  }
  if (typeof found === "string") return found;
  return found === undefined ? null : JSON.stringify(found);
}
