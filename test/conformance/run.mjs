// Runs the conformance suites of the protocol against a server and a client of ours, once directly and once with
// Fairlead between, and compares the verdicts check by check: whoever is in the middle must not change one.
//
//   node test/conformance/run.mjs [--server] [--client] [--suite <name>] [--scenario <name>] [--via "<command>"]
//
// The command gets `--upstream <url> --listen 127.0.0.1:<port>` after it; `--direct` leaves it out, and `--verbose`
// shows what the suites say. What is known to differ, or to fail even directly, is in expected.json with a reason each.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { command, fail, install, say } from "../../scripts/setup.mjs";
import { runBothWays } from "./runner/both.mjs";
import { createExpectations, findTrouble } from "./runner/compare.mjs";
import { findNode } from "./runner/node.mjs";
import { lineOf, tableOf } from "./runner/report.mjs";
import { suites } from "./runner/suites.mjs";

// A scenario that came out wrong is run again with the machine to itself, in case it was only late. Where many
// did, it was not the time.
const SECOND_CHANCES = 2;
const MAX_LATE = 8;

const { values: options } = parseArgs({
  options: {
    server: { type: "boolean" },
    client: { type: "boolean" },
    suite: { type: "string" },
    scenario: { type: "string" },
    via: { type: "string" },
    direct: { type: "boolean" },
    verbose: { type: "boolean" },
  },
});
const started = Date.now();
const entries = JSON.parse(readFileSync(join(import.meta.dirname, "expected.json"), "utf8"));
const chosen = suites.filter(
  ({ name, side }) =>
    (options.suite === undefined || options.suite === name) && (options[side] || options.server === options.client),
);
if (chosen.length === 0) fail(`There is no such suite. There are: ${suites.map(({ name }) => name).join(", ")}.`);

install(import.meta.dirname);
const node = findNode();
if (node === null) {
  say("The conformance suites are left out: they need Node 22, and npm has none for this platform.");
  process.exit(0);
}
const via = options.direct ? null : (options.via?.split(" ") ?? [process.execPath, command]);

const { scenario, verbose } = options;
const rows = await runBothWays(node, chosen, via, { scenario, verbose }).catch((error) => fail(error.message));
for (let chance = 0; chance < SECOND_CHANCES; chance += 1) await runAgain();
process.exit(report() ? 0 : 1);

async function runAgain() {
  const troubled = troublesIn(createExpectations(entries));
  if (troubled.length > MAX_LATE) return;
  for (const { row, scenario } of troubled) {
    say(`Once more, alone: ${row.suite.name}: ${scenario}`);
    const [again] = await runBothWays(node, [row.suite], via, { scenario, verbose });
    row.direct.set(scenario, again.direct.get(scenario));
    row.through.set(scenario, again.through.get(scenario));
  }
}

function report() {
  const expected = createExpectations(entries);
  const names = chosen.map(({ name }) => name);
  const troubles = troublesIn(expected).map(lineOf);
  if (scenario === undefined) {
    const empty = rows.filter(({ direct }) => direct.size === 0);
    troubles.push(...empty.map(({ suite }) => `${suite.name}: nothing was run`));
    const stale = [...expected.direct.stale(names), ...(via === null ? [] : expected.through.stale(names))];
    troubles.push(...stale.map((name) => `${name}: as it should be, and expected.json says otherwise`));
  }
  for (const line of [...tableOf(rows), ...troubles]) say(line);
  const known = new Set([...expected.direct.needed(), ...expected.through.needed()]).size;
  const seconds = Math.round((Date.now() - started) / 1000);
  say(`Conformance: ${troubles.length} scenarios in trouble, ${known} as expected.json explains, after ${seconds} s.`);
  return troubles.length === 0;
}

function troublesIn(expected) {
  return rows.flatMap((row) => {
    const names = new Set([...row.direct.keys(), ...row.through.keys()]);
    return [...names].map((scenario) => findTrouble(row, scenario, expected)).filter((trouble) => trouble !== null);
  });
}
