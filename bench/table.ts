import type { Result } from "./result.ts";
import type { Comparison, Row, Unit } from "./row.ts";

/** The wording of a table. */
export interface Wording {
  /** The columns in addition to Fairlead's. */
  readonly columns: readonly Column[];
  /** The title of each variant. */
  readonly titles: Readonly<Record<string, string>>;
}

/** A column for one variant, or for a different one in each row. */
export interface Column {
  readonly title: string;
  readonly variant: (row: Row) => string | null;
}

/** The results as rows of text, with the heading first. Columns without a value are left out. */
export function composeCells(results: readonly Result[], { columns, titles }: Wording): string[][] {
  const hasOther = results.some((result) => result.other !== null);
  const shown = columns.filter((column) => results.some((result) => showColumn(column, result) !== ""));
  const heading = ["what", "target", ...shown.map(({ title }) => title), "Fairlead"];
  heading.push("compared (95 % interval)", "verdict");
  if (hasOther) heading.push(OTHER, "other, compared");
  return [heading, ...results.map((result) => composeRow(result, shown, titles, hasOther))];
}

const OTHER = "other build";

function composeRow(
  result: Result,
  columns: readonly Column[],
  titles: Wording["titles"],
  hasOther: boolean,
): string[] {
  const { row, compared, other, outcome } = result;
  const line = [
    row.subject === "filter" && row.measure !== "refused" ? `${row.title} (--deny)` : row.title,
    row.target?.text ?? "",
    ...columns.map((column) => showColumn(column, result)),
    showCell(result, row.subject),
    showEstimate(compared, row.compare, row.unit, titles),
    outcome,
  ];
  if (hasOther) {
    line.push(showCell(result, "other"), other === null ? "" : showEstimate(other, row.compare, row.unit, titles));
  }
  return line;
}

function showColumn({ variant }: Column, result: Result): string {
  const name = variant(result.row);
  return name === null ? "" : showCell(result, name);
}

function showCell({ row, cells }: Result, variant: string): string {
  const value = cells[variant];
  return value === undefined ? "" : showValue(value, row.unit);
}

function showEstimate(
  { median, low, high }: Result["compared"],
  compare: Comparison,
  unit: Unit,
  titles: Wording["titles"],
): string {
  const interval = (digits: (value: number) => string): string =>
    `${digits(median)} (${digits(low)} … ${digits(high)})`;
  switch (compare.kind) {
    case "ratio":
      return `${interval((value) => value.toFixed(2))} × ${titles[compare.against]}${compare.added ? "’s added" : ""}`;
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

/** Formats a number with three significant digits. */
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

/** Formats the table for a terminal. */
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

/** Formats the table as Markdown. */
export function composeMarkdown(cells: readonly string[][]): string {
  const [heading, ...rows] = cells;
  const lines = [heading, heading.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
  return lines.join("\n");
}
