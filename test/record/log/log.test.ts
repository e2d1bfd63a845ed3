import { expect, test } from "vitest";
import { createLog } from "../../../src/record/log/log.ts";
import { createReporter } from "../../../src/record/log/report.ts";

const NASTY = 'a\u009B31m\u2028\u202E\u{E0001}"b\\';

const epoch = (): Date => new Date(0);

test("whatever a peer wrote, a line is one line, drives no terminal, and can be read back", () => {
  const lines: string[] = [];
  for (const format of ["text", "json"] as const) {
    createLog({ format, now: epoch, write: (line) => lines.push(line) }).warn("text", { name: NASTY, count: 1 });
  }
  const shown = String.raw`"a\u009b31m\u2028\u202e\udb40\udc01\"b\\"`;
  expect(lines).toEqual([
    `1970-01-01T00:00:00.000Z warn  text name=${shown} count=1\n`,
    `{"time":"1970-01-01T00:00:00.000Z","level":"warn","message":"text","name":${shown},"count":1}\n`,
  ]);
  expect(JSON.parse(lines[1])).toMatchObject({ name: NASTY });
});

test("what one rule says too often is counted, at the level it is said", () => {
  const lines: string[] = [];
  let clock = 0;
  const log = createLog({ write: (line) => lines.push(line.slice(25).trimEnd()) });
  const reporter = createReporter(log, () => clock);
  for (let count = 0; count < 13; count++) reporter.report("tools", "refused", { level: "info" });
  reporter.report("internal", "oh");
  expect(lines.slice(9)).toEqual(['info  refused rule="tools"', 'warn  oh rule="internal"']);
  clock = 10_000;
  reporter.report("tools", "refused", { level: "info" });
  expect(lines.slice(11)).toEqual(['info  3 more like this rule="tools"', 'info  refused rule="tools"']);
});
