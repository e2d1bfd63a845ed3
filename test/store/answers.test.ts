import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createMemoryAnswers } from "../../src/store/answers.ts";
import type { AnswerKey } from "../../src/store/keys.ts";

const at = (key: string): AnswerKey => ({
  of: "answer",
  scope: "shared",
  audience: null,
  server: "s",
  rule: "r",
  era: "stateful",
  method: "tools/list",
  subject: null,
  key,
});
const answer = (size: number) => ({ result: Buffer.alloc(size), ttlMs: null, isPrivate: false });

test("answers in memory are counted with what keeping them costs, and nothing is counted of none", () => {
  const answers = createMemoryAnswers({ now: () => 0, maxBytes: 10_000, maxEntries: 3 });
  for (const key of ["a", "b", "c"]) answers.keep(at(key), answer(100), 1);
  expect(answers.bytes).toBe(3 * 400);
  answers.keep(at("a"), answer(200), 1);
  expect(answers.bytes).toBe(2 * 400 + 500);
  answers.clear();
  expect(answers.bytes).toBe(0);
});

test("memory for answers is never more than it may be, and never counted wrong", () => {
  const step = fc.record({
    key: fc.constantFrom("a", "b", "c", "d", "e"),
    size: fc.nat(1500),
    ttl: fc.nat(20),
    time: fc.nat(5),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let time = 0;
      const answers = createMemoryAnswers({ now: () => time, maxBytes: 5000, maxEntries: 4 });
      for (const { key, size, ttl, time: passed } of steps) {
        time += passed;
        const found = answers.find(at(key));
        if (found !== undefined) expect(found.ageMs).toBeLessThan(20);
        answers.keep(at(key), answer(size), ttl);
        expect(answers.bytes).toBeLessThanOrEqual(5000);
      }
      time += 1000;
      for (const key of ["a", "b", "c", "d", "e"]) expect(answers.find(at(key))).toBeUndefined();
      expect(answers.bytes).toBe(0);
    }),
  );
});
