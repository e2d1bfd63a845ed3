import { type CompiledFilter, type CompileOptions, compileParts } from "./compile.ts";
import { type Filter, type FilterNode, topLevel } from "./filter.ts";
import type { FilterRow } from "./row.ts";

/** Gives access to a caller's row. It may return the same cursor each time, moved to the row. */
export type ViewRow<Row> = (row: Row) => FilterRow;

/** The rows that match, and how many could not be judged because their bytes were not kept. */
export interface Selection<Row> {
  readonly rows: readonly Row[];
  readonly unjudged: number;
}

/** Selects the rows that match. */
export function selectRows<Row>(filter: CompiledFilter, rows: Iterable<Row>, view: ViewRow<Row>): Selection<Row> {
  const fitting: Row[] = [];
  let unjudged = 0;
  for (const row of rows) {
    const fits = filter.judge(view(row));
    if (fits === true) fitting.push(row);
    else if (fits === undefined) unjudged++;
  }
  return { rows: fitting, unjudged };
}

/** How many rows match a filter, and how many would match without one of its parts. */
export interface Counts {
  readonly rows: number;
  readonly fitting: number;
  readonly unjudged: number;
  readonly without: readonly { readonly part: FilterNode; readonly fitting: number }[];
}

/** Counts how many rows would match without each part of a filter, to help when no row matches all parts. */
export function countWithout<Row>(
  filter: Filter,
  rows: Iterable<Row>,
  view: ViewRow<Row>,
  options: CompileOptions,
): Counts {
  const asks = compileParts(filter, options);
  const saved = asks.map(() => 0);
  let [all, fitting, unjudged] = [0, 0, 0];
  for (const row of rows) {
    all++;
    const seen = view(row);
    let [failed, unknown, last] = [0, 0, -1];
    for (let part = 0; part < asks.length && failed < 2; part++) {
      const fits = asks[part](seen);
      if (fits === true) continue;
      if (fits === undefined) unknown++;
      // If two parts do not hold, leaving out one of them does not help.
      failed++;
      last = part;
    }
    if (failed === 0) fitting++;
    else if (failed === 1) saved[last]++;
    if (unknown > 0 && unknown === failed && !asks.some((ask) => ask(seen) === false)) unjudged++;
  }
  const without = topLevel(filter).map((part, nth) => ({ part, fitting: fitting + saved[nth] }));
  return { rows: all, fitting, unjudged, without };
}
