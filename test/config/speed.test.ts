import { execFileSync } from "node:child_process";
import { load } from "js-yaml";
import { expect, test } from "vitest";
import { cpuTime } from "../support/cpu.ts";
import { read } from "./reading.ts";

/** A policy of many rules, a third of them with a pattern. */
function writeRules(isEnough: (nth: number, length: number) => boolean): string {
  let text = "interceptor:\n  rules:\n";
  for (let nth = 0; !isEnough(nth, text.length); nth++) {
    const pattern =
      nth % 3 === 0
        ? `        - param_matches: { field: arguments.path, pattern: '^/home/u${nth}/.*\\.(key|pem)$' }\n`
        : "";
    text += `    - id: rule-${nth}
      name: "Rule number ${nth}"
      enabled: true
      priority: ${nth % 100}
      conditions:
        - method_equals: "tools/call"
        - param_in:
            field: "name"
            values: ["tool_${nth}", "delete_file"]
${pattern}      actions:
        - block: "Dangerous tool blocked for safety"
        - log:
            level: warn
            message: "Attempted to call \${tool}"
`;
  }
  return text;
}

/** Reads a policy of 500 rules for the first time in its life, and prints the processor time that took. */
const FIRST_READING = `
import { cpuTime } from ${JSON.stringify(import.meta.resolve("../support/cpu.ts"))};
import { read } from ${JSON.stringify(import.meta.resolve("./reading.ts"))};
import { text } from "node:stream/consumers";
const policy = await text(process.stdin);
console.log(await cpuTime(() => {
  if (read(policy).mistakes.length > 0) throw new Error("mistakes");
}));
`;

// The first time is the one that counts: at start nothing has been compiled yet. So each round has a process of its own,
// and because others use the machine the best one counts.
test("500 rules are read in less than 250 ms", { timeout: 60_000 }, () => {
  const input = writeRules((nth) => nth === 500);
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", FIRST_READING];
  let best = Infinity;
  for (let round = 0; round < 5 && best >= 250; round++)
    best = Math.min(best, Number(execFileSync(process.execPath, args, { input, encoding: "utf8" })));
  expect(best).toBeLessThan(250);
});

test("a megabyte of policy takes at most half as long again as YAML alone", { timeout: 60_000 }, async () => {
  const text = writeRules((_, length) => length >= 2 ** 20);
  const ratios: number[] = [];
  // Others use the machine, and the garbage of one round is cleared away in another.
  for (let round = 0; round < 21; round++) {
    const yaml = await cpuTime(() => load(text));
    const ours = await cpuTime(() => expect(read(text).mistakes).toEqual([]));
    ratios.push(ours / yaml);
  }
  expect(ratios.sort((one, other) => one - other)[10]).toBeLessThanOrEqual(1.5);
});
