import { countScenarios } from "./verdicts.mjs";

/** The table of what was run: scenarios per suite, and how many passed on each way. */
export function tableOf(rows) {
  const lines = rows.map(({ suite, direct, through }) => {
    const { all, passed } = countScenarios(direct);
    return [suite.name, all, passed, countScenarios(through).passed];
  });
  return [["suite", "scenarios", "direct", "through"], ...lines].map(([name, ...numbers]) =>
    [name.padEnd(20), ...numbers.map((number) => String(number).padStart(10))].join(""),
  );
}

/** A trouble in one line: the checks that decide first, those that were only not reached as a number. */
export function lineOf({ row, scenario, failing, differing }) {
  const reached = differing.filter(({ after }) => after !== "missing");
  const missing = differing.length - reached.length;
  return [
    `${row.suite.name}: ${scenario}:`,
    ...(failing.length > 0 ? [`fails directly (${failing.join(", ")})`] : []),
    ...reached.map(({ check, before, after }) => `${check} ${before} → ${after}`),
    ...(missing > 0 ? [`${missing} checks missing`] : []),
  ].join("  ");
}
