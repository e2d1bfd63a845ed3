import type { Steps } from "../text/path.ts";
import type { AmountField, FieldName, TextField, WordField } from "./fields.ts";

/** Longer filters are not read. It is more than fits into an address that people send each other. */
export const MAX_FILTER_CHARACTERS = 4096;

/** How many terms a filter may have; each value of a list counts. */
export const MAX_TERMS = 256;

/** How deep brackets may be nested. */
export const MAX_DEPTH = 32;

/** Where something stands in the text of a filter: from `start` up to, and not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A filter that has been read. */
export interface Filter {
  /** As it was written. The spans of the nodes are places in it. */
  readonly text: string;
  readonly root: FilterNode;
}

/** A field as a term names it. A bare word has the field `shown`: it looks at what the row shows. */
export interface FieldRef<Name = FieldName | "shown"> {
  readonly name: Name;
  /** The path that follows the name. Empty for all fields but `arg` and `result`. */
  readonly path: Steps;
}

/** A field that holds text, or what the row shows. */
export type TextRef = FieldRef<TextField | "shown">;

/** A part of a filter. All of `all` must hold, one of `any`; where `all` is empty, everything fits. */
export type FilterNode = Span &
  (
    | { readonly kind: "all" | "any"; readonly of: readonly FilterNode[] }
    | { readonly kind: "not"; readonly of: FilterNode }
    | FilterTerm
  );

/** A part of a filter that asks one field one question. */
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

/** How an amount is compared. */
export type Comparison = ">" | ">=" | "<" | "<=";

/** One amount, or all from one to another. */
export interface AmountRange {
  readonly from: Amount;
  readonly to: Amount | null;
}

/** An amount. `text` is its canonical spelling, and says all the rest. */
export type Amount =
  /** A number, in the smallest unit of its field; `step` is what its last written digit counts. */
  | { readonly kind: "number"; readonly text: string; readonly value: number; readonly step: number }
  /** So many milliseconds before now. */
  | { readonly kind: "ago"; readonly text: string; readonly milliseconds: number }
  /** A time of day, as hours, minutes, seconds and milliseconds, good for so many milliseconds. */
  | { readonly kind: "clock"; readonly text: string; readonly parts: readonly number[]; readonly lasts: number }
  /** A date: year, month, day, and then as above. A null offset is local time; a day lasts until the next one. */
  | {
      readonly kind: "date";
      readonly text: string;
      readonly parts: readonly number[];
      readonly lasts: number | "day";
      readonly offsetMinutes: number | null;
    };

/** The parts of a filter that must all hold. */
export function topLevel({ root }: Filter): readonly FilterNode[] {
  return root.kind === "all" ? root.of : [root];
}

/** Every term of a filter, or of a part of one, in the order in which they are written. */
export function* eachTerm(node: FilterNode): Generator<FilterTerm> {
  if (!("of" in node)) yield node;
  else if (node.kind === "not") yield* eachTerm(node.of);
  else for (const each of node.of) yield* eachTerm(each);
}

/** Whether a filter has a pattern: then it needs an engine that runs patterns. */
export function hasPattern(filter: Filter): boolean {
  for (const term of eachTerm(filter.root)) if (term.kind === "matches") return true;
  return false;
}
