import type { Bound } from "./bound.ts";
import { CACHES, INPUT, KEPT, PLACES, SETTINGS, WORK } from "./table.ts";

/** The page that tells all limits: docs/limits.md. */
export function limitsPage(): string {
  const settings = SETTINGS.map(({ setting, what, value, past }) =>
    row(`\`limits.${setting}\``, what, shown(value, what), past),
  );
  const sections = [
    ["What a peer sends", INPUT],
    ["What is kept in memory", KEPT],
    ["What is kept to save time", CACHES],
    ["How many at once", PLACES],
    ["How much work", WORK],
  ] as const;
  return [
    "# Limits",
    "",
    "Everything that can grow has a bound. This page lists every bound, and what happens to what goes past it. You can set the",
    "first ones in a [policy file](policy.md); the others are constants. The page is generated from a table that the tests",
    "compare with the sources: `npm run test:bounds -- --write`.",
    "",
    "```yaml",
    "limits: { max_message: 1MB, max_depth: 32, max_open_calls: 100, max_connections: 500 }",
    "```",
    "",
    "| key | what | limit | past it |",
    "| --- | --- | --- | --- |",
    ...settings,
    "",
    "Where clients share places or memory, one of them does not keep the others out: see",
    "[What is refused](http.md#what-is-refused). `npm run test:bounds` runs hostile loads against the command: resident memory",
    "stays under 400 MB whatever one connection sends, and under 700 MB whatever nobody reads.",
    ...sections.flatMap(section),
    "",
    "Names, reasons and excerpts in errors and in the log are cut too.",
    "",
  ].join("\n");
}

function section([title, bounds]: readonly [string, readonly Bound[]]): string[] {
  return ["", `## ${title}`, "", "| what | limit | past it |", "| --- | --- | --- |"].concat(bounds.map(tell));
}

function tell({ what, value, past }: Bound): string {
  return row(what, shown(value, what), past);
}

function row(...cells: string[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** A number with the unit that its sentence begins with. */
function shown(value: number, what: string): string {
  const plain = value.toLocaleString("en-US");
  if (what.startsWith("bytes") || what.startsWith("characters")) {
    const unit = what.startsWith("bytes") ? "B" : "";
    if (value % (1024 * 1024) === 0) return `${value / 1024 / 1024} M${unit}`;
    if (value >= 16_384 && value % 1024 === 0) return `${value / 1024} k${unit}`;
  }
  return plain;
}
