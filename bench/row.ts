/** One row of the table: a quantity, what it is compared with, and its target. */
export interface Row {
  readonly measure: string;
  readonly quantity: string;
  readonly title: string;
  readonly unit: Unit;
  /** The variant whose value is in Fairlead's column. */
  readonly subject: string;
  readonly compare: Comparison;
  /** Null if there is no target: for information only. */
  readonly target: Target | null;
}

/** The units of values. */
export type Unit = "µs" | "ms" | "MB" | "kB" | "calls/s" | "ns/B" | "×";

/** What is computed in every round, before the median over all rounds is taken. */
export type Comparison =
  /** The subject's value divided by another's; `added` first subtracts the bare server's value from both. */
  | { readonly kind: "ratio"; readonly against: string; readonly added: boolean }
  /** The subject's value minus another's. */
  | { readonly kind: "difference"; readonly against: string }
  /** The subject's value itself. */
  | { readonly kind: "itself" }
  /** The subject's value divided by its own value of another quantity. */
  | { readonly kind: "growth"; readonly from: string };

/** The limit for a comparison: a maximum or a minimum. */
export interface Target {
  readonly text: string;
  readonly limit: number;
  readonly sense: "most" | "least";
}

/** A maximum. */
export const most = (limit: number, text: string): Target => ({ text, limit, sense: "most" });
/** A minimum. */
export const least = (limit: number, text: string): Target => ({ text, limit, sense: "least" });
/** The subject's value divided by another's. */
export const over = (against: string): Comparison => ({ kind: "ratio", against, added: false });
/** What the subject adds to the bare server's value, divided by what another adds. */
export const addedOver = (against: string): Comparison => ({ kind: "ratio", against, added: true });
/** How much larger the subject's value is than another's. */
export const beyond = (against: string): Comparison => ({ kind: "difference", against });
/** The subject's value itself. */
export const ITSELF: Comparison = { kind: "itself" };
