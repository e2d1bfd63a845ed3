import { showText } from "../message/text.ts";

/** Formats rows as columns under a heading. */
export function composeTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  sides: readonly ("left" | "right")[],
): string {
  const clean = rows.map((row) => row.map((cell) => showText(cell, 80)));
  const all = [heading, ...clean];
  const widths = heading.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  return all
    .map((row) => {
      const cells = row.map((cell, column) =>
        sides[column] === "left" ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
      );
      return `${cells.join("  ").trimEnd()}\n`;
    })
    .join("");
}
