import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

// The worst last. What is for information only is no verdict, and how often it is said depends on the weather.
const STATUSES = ["SUCCESS", "SKIPPED", "WARNING", "FAILURE"];

/**
 * What the suite wrote about each scenario, by its name: the status of each check, the worst where there are
 * several. A scenario without a list of checks did not come to its end.
 */
export function readVerdicts(folder, side) {
  const verdicts = new Map();
  for (const path of foldersIn(folder)) {
    const [, name] = /^(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(path) ?? [];
    if (name === undefined) continue;
    const scenario = side === "server" ? name.slice("server-".length) : name;
    verdicts.set(scenario, readChecks(join(folder, path, "checks.json")));
  }
  return verdicts;
}

/** Whether the status of a check is a good one. */
export function isPassed(status) {
  return status === "SUCCESS" || status === "SKIPPED";
}

/** How many scenarios there are, and how many of them have no check that failed. */
export function countScenarios(verdicts) {
  const passed = [...verdicts.values()].filter((checks) => [...checks.values()].every(isPassed));
  return { all: verdicts.size, passed: passed.length };
}

function readChecks(file) {
  if (!existsSync(file)) return new Map([["scenario-finished", "FAILURE"]]);
  const worst = new Map();
  for (const { id, status } of JSON.parse(readFileSync(file, "utf8"))) {
    const rank = STATUSES.indexOf(status);
    if (rank >= 0 && rank >= STATUSES.indexOf(worst.get(id))) worst.set(id, status);
  }
  return worst;
}

// Names of scenarios may have a slash, and then the folder of the results is one deeper.
function foldersIn(folder, before = "") {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return names.flatMap(({ name }) => [`${before}${name}`].concat(foldersIn(join(folder, name), `${before}${name}/`)));
}
