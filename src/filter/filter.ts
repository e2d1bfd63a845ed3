import type { Steps } from "../text/path.ts";
import type { AmountField, FieldName, TextField, WordField } from "./fields.ts";

/** The longest filter that is parsed. It is longer than what fits into a URL that people share. */
export const MAX_FILTER_CHARACTERS = 4096;

/** How many terms a filter may have. Each value of a list counts as one. */
export const MAX_TERMS = 256;

/** How deep brackets may be nested. */
export const MAX_DEPTH = 32;

/** A range in the text of a filter, from `start` up to but not including `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A parsed filter. */
export interface Filter {
  /** The text as written. The spans of the nodes refer to it. */
  readonly text: string;
  readonly root: FilterNode;
}

/** A field in a term. A bare word has the field `shown`, which stands for the visible text of the row. */
export interface FieldRef<Name = FieldName | "shown"> {
  readonly name: Name;
  /** The path after the name. Empty for all fields except `arg` and `result`. */
  readonly path: Steps;
}

/** A text field, or the visible text of the row. */
export type TextRef = FieldRef<TextField | "shown">;

/** A part of a filter. All parts of `all` must hold, and one part of `any`; an empty `all` matches every row. */
export type FilterNode = Span &
  (
    | { readonly kind: "all" | "any"; readonly of: readonly FilterNode[] }
    | { readonly kind: "not"; readonly of: FilterNode }
    | FilterTerm
  );

/** A part of a filter that tests one field. */
export type FilterTerm = Span &
  (
    | { readonly kind: "contains" | "equals"; readonly field: TextRef; readonly values: readonly string[] }
    | { readonly kind: "matches"; readonly field: TextRef; readonly source: string; readonly ignoreCase: boolean }
    | { readonly kind: "exists"; readonly field: FieldRef }
    | { readonly kind: "word"; readonly field: FieldRef<WordField>; readonly words: readonly string[] }
    | { readonly kind: "within"; readonly field: FieldRef<AmountField>; readonly ranges: readonly AmountRange[] }
    | {
        readonly kind: "compare";
        readonly field: FieldRef<AmountField>;
        readonly operator: Comparison;
        readonly amount: Amount;
      }
  );

/** The operators that compare amounts. */
export type Comparison = ">" | ">=" | "<" | "<=";

/** One amount, or a range of amounts. */
export interface AmountRange {
  readonly from: Amount;
  readonly to: Amount | null;
}

/** An amount. `text` is its canonical spelling, from which the other members follow. */
export type Amount =
  /** A number in the smallest unit of its field. `step` is the value of one unit of its last digit. */
  | { readonly kind: "number"; readonly text: string; readonly value: number; readonly step: number }
  /** A number of milliseconds before now. */
  | { readonly kind: "ago"; readonly text: string; readonly milliseconds: number }
  /** A time of day as hours, minutes, seconds and milliseconds, and how many milliseconds it stands for. */
  | { readonly kind: "clock"; readonly text: string; readonly parts: readonly number[]; readonly lasts: number }
  /**
   * A date: year, month and day, then as above. A null offset means local time; a day lasts until the next day begins.
   */
  | {
      readonly kind: "date";
      readonly text: string;
      readonly parts: readonly number[];
      readonly lasts: number | "day";
      readonly offsetMinutes: number | null;
    };

/** The top-level parts of a filter, which must all hold. */
export function topLevel({ root }: Filter): readonly FilterNode[] {
  return root.kind === "all" ? root.of : [root];
}

/** Every term of a filter or of a part of one, in the order of the text. */
export function* eachTerm(node: FilterNode): Generator<FilterTerm> {
  if (!("of" in node)) yield node;
  else if (node.kind === "not") yield* eachTerm(node.of);
  else for (const each of node.of) yield* eachTerm(each);
}

/** Whether a filter has a pattern, and so needs a pattern engine. */
export function hasPattern(filter: Filter): boolean {
  for (const term of eachTerm(filter.root)) if (term.kind === "matches") return true;
  return false;
}
