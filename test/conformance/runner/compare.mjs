import { isPassed } from "./verdicts.mjs";

/**
 * What is wrong with a scenario of a suite: the checks that fail directly, and those that come out differently
 * through the proxy, but for what is expected. Null if nothing is.
 */
export function findTrouble(row, scenario, expected) {
  const { suite, direct, through } = row;
  const before = direct.get(scenario) ?? new Map();
  const after = through.get(scenario) ?? new Map();
  const failing = [...before]
    .filter(([, status]) => !isPassed(status))
    .filter(([check]) => !expected.direct.covers(suite.name, scenario, check))
    .map(([check]) => check);
  const differing = differences(before, after).filter(
    ({ check }) => !expected.through.covers(suite.name, scenario, check),
  );
  return failing.length + differing.length === 0 ? null : { row, scenario, failing, differing };
}

/**
 * What is known: entries have suites, scenarios, checks (all, if they name none) and a reason. Remembers what was
 * needed, so that an entry that no longer is can be taken out.
 */
export function createExpectations({ direct, through }) {
  return { direct: createList(direct), through: createList(through) };
}

function createList(entries) {
  const needed = new Set();
  return {
    covers(suite, scenario, check) {
      const entry = entries.find(
        ({ suites, scenarios, checks }) =>
          suites.includes(suite) && scenarios.includes(scenario) && (checks?.includes(check) ?? true),
      );
      if (entry !== undefined) needed.add(`${suite}: ${scenario}`);
      return entry !== undefined;
    },

    /** What happened as expected. */
    needed: () => [...needed],

    /** What was expected of these suites and did not happen. */
    stale(names) {
      return entries
        .flatMap(({ suites, scenarios }) => suites.flatMap((suite) => scenarios.map((scenario) => [suite, scenario])))
        .filter(([suite]) => names.includes(suite))
        .map(([suite, scenario]) => `${suite}: ${scenario}`)
        .filter((name) => !needed.has(name));
    },
  };
}

// What one side does not have is "missing": a scenario that broke off does not come to its later checks.
function differences(before, after) {
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((check) => ({ check, before: before.get(check) ?? "missing", after: after.get(check) ?? "missing" }))
    .filter((one) => one.before !== one.after);
}
