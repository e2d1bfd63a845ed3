import { expect, test } from "vitest";
import { describeReport, fuzz } from "./fuzz.ts";
import { COMPLAINTS, PLANTS } from "./plants.ts";
import { testSeed } from "./random.ts";
import { isFull } from "../support/runs.ts";

const SECONDS = isFull ? 60 : 6;

test(
  "no mutant of a hostile or good message is treated otherwise than the profile says",
  { timeout: 180_000 },
  async () => {
    const started = performance.now();
    const report = await fuzz({ seed: testSeed(), mutants: Infinity, seconds: SECONDS });
    const text = describeReport(report, performance.now() - started);
    console.info(text);
    expect(report.find, text).toBeNull();
    // A run that only ever saw refusals would have shown nothing.
    for (const verdict of ["up pass", "up wait", "up members", "up refuse: tool", "down pass", "down filter"])
      expect(report.verdicts.get(verdict) ?? 0, `${verdict} in ${text}`).toBeGreaterThan(0);
  },
);

const plants = Object.keys(PLANTS) as (keyof typeof PLANTS)[];

test.each(plants)("a relay that %s is found out", { timeout: 60_000 }, async (what) => {
  const report = await fuzz({ seed: 1, mutants: 20_000, seconds: 30, plant: PLANTS[what] });
  expect(report.find?.complaint).toMatch(COMPLAINTS[what]);
});
