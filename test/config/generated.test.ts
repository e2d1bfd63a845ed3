import { expect, test } from "vitest";
import { composeMistakes } from "../../src/config/compose-mistakes.ts";
import { read } from "./reading.ts";
import { createRandom, spoil, writePolicy } from "./writing.ts";

// FAIRLEAD_POLICIES=10000 for all of them, FAIRLEAD_SEED to see the same ones again.
const COUNT = Number(process.env["FAIRLEAD_POLICIES"] ?? 2000);
const SEED = Number(process.env["FAIRLEAD_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

test(`no policy, right or broken, makes the reader fail (${COUNT} of them, seed ${SEED})`, { timeout: 600_000 }, () => {
  const random = createRandom(SEED);
  let broken = 0;
  for (let nth = 0; nth < COUNT; nth++) {
    const right = writePolicy(random);
    const isSpoilt = nth % 3 > 0;
    const text = isSpoilt ? spoil(right, random) : right;
    try {
      const { policy, mistakes, warnings } = read(text, { TOKEN: "t" });
      if (!isSpoilt) expect(mistakes.filter(({ code }) => code !== "never-matches")).toEqual([]);
      expect(policy === null).toBe(mistakes.length > 0);
      if (policy === null) broken++;
      const lines = text.split(/\r\n|\n|\r/);
      for (const { line, column, message } of [...mistakes, ...warnings]) {
        expect(message).not.toBe("");
        expect(line).toBeLessThanOrEqual(lines.length);
        expect(column).toBeLessThanOrEqual(lines[line - 1].length + 2);
      }
      composeMistakes([...mistakes, ...warnings], "text");
      JSON.parse(composeMistakes(mistakes, "json"));
    } catch (cause) {
      throw new Error(`Policy ${nth} of seed ${SEED} made the reader fail:\n${text}`, { cause });
    }
  }
  expect(broken).toBeGreaterThan(COUNT / 10);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});
