import type { Row, Target } from "./row.ts";
import { estimate, type Estimate, median } from "./statistics.ts";

/** The measured values: by measure, quantity and variant, one value per round. */
export type Samples = Record<string, Record<string, Partial<Record<string, number[]>>>>;

/** Whether a target is met. "close": the interval contains the target, so this run cannot tell. */
export type Outcome = "PASS" | "FAIL" | "close" | "–";

/** A row with its numbers. */
export interface Result {
  readonly row: Row;
  /** The median over rounds of each variant's own values on this machine. */
  readonly cells: Partial<Record<string, number>>;
  readonly compared: Estimate;
  /** The same comparison for the other build, if one was measured. */
  readonly other: Estimate | null;
  readonly outcome: Outcome;
}

/** Fills a row. Null if its quantity was not measured. */
export function fillRow(row: Row, samples: Samples): Result | null {
  const values = samples[row.measure]?.[row.quantity];
  if (values === undefined) return null;
  const compared = compare(row, row.subject, samples);
  if (compared === null) return null;
  const cells: Partial<Record<string, number>> = {};
  for (const variant of Object.keys(values)) {
    const shown = row.compare.kind === "growth" ? compare(row, variant, samples) : values[variant];
    if (shown !== undefined && shown !== null) cells[variant] = median(shown);
  }
  const other = values["other"] === undefined || row.subject !== "fairlead" ? null : compare(row, "other", samples);
  const estimated = estimate(compared);
  return {
    row,
    cells,
    compared: estimated,
    other: other === null ? null : estimate(other),
    outcome: judge(estimated, row.target),
  };
}

/** The comparison of a row for one variant, round by round. */
function compare({ measure, quantity, compare: how }: Row, subject: string, samples: Samples): number[] | null {
  const values = samples[measure][quantity];
  const own = values[subject];
  if (own === undefined) return null;
  switch (how.kind) {
    case "itself":
      return own;
    case "growth": {
      const from = samples[measure][how.from]?.[subject];
      return from === undefined ? null : own.map((value, round) => value / from[round]);
    }
    case "difference": {
      const against = values[how.against];
      return against === undefined ? null : own.map((value, round) => value - against[round]);
    }
    case "ratio": {
      const against = values[how.against];
      const direct = values["direct"];
      if (against === undefined || (how.added && direct === undefined)) return null;
      const base = (round: number): number => (how.added ? (direct?.[round] ?? 0) : 0);
      return own.map((value, round) => (value - base(round)) / (against[round] - base(round)));
    }
  }
}

function judge({ low, high }: Estimate, target: Target | null): Outcome {
  if (target === null) return "–";
  const meets = (value: number): boolean => (target.sense === "most" ? value <= target.limit : value >= target.limit);
  if (meets(low) && meets(high)) return "PASS";
  return meets(low) || meets(high) ? "close" : "FAIL";
}
