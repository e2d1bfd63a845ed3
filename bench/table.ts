import type { Result } from "./result.ts";
import type { Comparison, Unit } from "./rows.ts";
import { TITLES, type Variant } from "./variants.ts";

/** The results as rows of text, the heading first. */
export function composeCells(results: readonly Result[]): string[][] {
  const hasOther = results.some((result) => result.other !== null);
  const heading = ["what", "target", ...BASELINES.map((variant) => TITLES[variant]), "Fairlead"];
  heading.push("compared (95 % interval)", "verdict");
  if (hasOther) heading.push(TITLES.other, "other, compared");
  return [heading, ...results.map((result) => composeRow(result, hasOther))];
}

const BASELINES: readonly Variant[] = ["direct", "cat", "pipe", "parse"];

function composeRow(result: Result, hasOther: boolean): string[] {
  const { row, cells, compared, other, outcome } = result;
  const show = (variant: Variant): string => {
    const value = cells[variant];
    return value === undefined ? "" : showValue(value, row.unit);
  };
  const line = [
    row.subject === "filter" && row.measure !== "refused" ? `${row.title} (--deny)` : row.title,
    row.target?.text ?? "",
    ...BASELINES.map(show),
    show(row.subject),
    showEstimate(compared, row.compare, row.unit),
    outcome,
  ];
  if (hasOther) line.push(show("other"), other === null ? "" : showEstimate(other, row.compare, row.unit));
  return line;
}

function showEstimate({ median, low, high }: Result["compared"], compare: Comparison, unit: Unit): string {
  const interval = (digits: (value: number) => string): string =>
    `${digits(median)} (${digits(low)} … ${digits(high)})`;
  switch (compare.kind) {
    case "ratio":
      return `${interval((value) => value.toFixed(2))} × ${TITLES[compare.against]}${compare.added ? "’s added" : ""}`;
    case "growth":
      return `${interval((value) => value.toFixed(2))} × ${compare.from}`;
    case "difference":
      return `${interval((value) => `${value < 0 ? "−" : "+"}${showNumber(Math.abs(value))}`)} ${unit}`;
    case "itself":
      return `${interval(showNumber)} ${unit}`;
  }
}

function showValue(value: number, unit: Unit): string {
  return unit === "×" ? value.toFixed(2) : `${showNumber(value)} ${unit}`;
}

/** Three digits that count. */
function showNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000)
    return Math.round(value)
      .toString()
      .replaceAll(/\B(?=(\d{3})+$)/g, ",");
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(size >= 1 ? 2 : 3);
}

/** For a terminal: columns side by side. */
export function composeText(cells: readonly string[][]): string {
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** For a page. */
export function composeMarkdown(cells: readonly string[][]): string {
  const [heading, ...rows] = cells;
  const lines = [heading, heading.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
  return lines.join("\n");
}
