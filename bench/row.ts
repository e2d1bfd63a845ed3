/** One line of the table: a quantity, what it is held against, and how much of that it may be. */
export interface Row {
  readonly measure: string;
  readonly quantity: string;
  readonly title: string;
  readonly unit: Unit;
  /** Whose value stands in Fairlead's column. */
  readonly subject: string;
  readonly compare: Comparison;
  /** Null where there is nothing to reach: for information. */
  readonly target: Target | null;
}

/** How values are written. */
export type Unit = "µs" | "ms" | "MB" | "kB" | "calls/s" | "ns/B" | "×";

/** What is computed in every round, before the median is taken over all rounds. */
export type Comparison =
  /** The subject's value over another's; `added` first takes from both what the bare server needs. */
  | { readonly kind: "ratio"; readonly against: string; readonly added: boolean }
  /** The subject's value less another's. */
  | { readonly kind: "difference"; readonly against: string }
  /** The subject's value as it is. */
  | { readonly kind: "itself" }
  /** The subject's value over its own value of another quantity. */
  | { readonly kind: "growth"; readonly from: string };

/** What a comparison should be at most, or at least. */
export interface Target {
  readonly text: string;
  readonly limit: number;
  readonly sense: "most" | "least";
}

/** At most so much. */
export const most = (limit: number, text: string): Target => ({ text, limit, sense: "most" });
/** At least so much. */
export const least = (limit: number, text: string): Target => ({ text, limit, sense: "least" });
/** The subject's value over another's. */
export const over = (against: string): Comparison => ({ kind: "ratio", against, added: false });
/** What the subject adds over what another adds. */
export const addedOver = (against: string): Comparison => ({ kind: "ratio", against, added: true });
/** By how much the subject's value is larger than another's. */
export const beyond = (against: string): Comparison => ({ kind: "difference", against });
/** The subject's value as it is. */
export const ITSELF: Comparison = { kind: "itself" };
