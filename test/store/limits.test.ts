import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LimitKey } from "../../src/store/keys.ts";
import { createMemoryLimits } from "../../src/store/limits.ts";

/** The key of a limit, written as `rule/key`. */
function at(text: string): LimitKey {
  const [id, key = ""] = text.split("/");
  return { of: "limit", owner: "rule", id, nth: 0, watching: false, key };
}

function limiter(options: { maxKeys?: number; reservedKeys?: number; maxMoments?: number } = {}) {
  const clock = { time: 0 };
  const limits = createMemoryLimits({
    maxKeys: 100,
    reservedKeys: 10,
    maxMoments: 10_000,
    now: () => clock.time,
    ...options,
  });
  return { clock, limiter: limits };
}

test("there is no double burst across the edge of a minute", () => {
  const { clock, limiter: limits } = limiter();
  let allowed = 0;
  for (clock.time = 59_900; clock.time < 60_100; clock.time += 10)
    if (limits.take(at("k"), 5, 60_000).allowed) allowed++;
  expect(allowed).toBe(5);
});

test("in no window are more than the limit allowed, and none is refused that would fit", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 30 }), { maxLength: 60 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 50 }),
      (steps, limit, windowMs) => {
        const { clock, limiter: limits } = limiter();
        const taken: number[] = [];
        for (const step of steps) {
          clock.time += step;
          const inside = taken.filter((moment) => moment > clock.time - windowMs);
          const answer = limits.take(at("k"), limit, windowMs);
          if (inside.length < limit) {
            expect(answer).toEqual({ allowed: true, left: limit - inside.length - 1 });
            taken.push(clock.time);
          } else expect(answer).toEqual({ allowed: false, retryAfterMs: inside[0] + windowMs - clock.time });
        }
      },
    ),
  );
});

test("who comes back when told to is let in, and not a moment before", () => {
  const { clock, limiter: limits } = limiter();
  for (let nth = 0; nth < 5; nth++, clock.time += 7) limits.take(at("k"), 5, 100);
  limits.take(at("k"), 2, 100);
  const refused = limits.take(at("k"), 2, 100); // the limit was lowered meanwhile
  if (refused.allowed) throw new Error("allowed");
  clock.time += refused.retryAfterMs - 1;
  expect(limits.take(at("k"), 2, 100).allowed).toBe(false);
  clock.time += 1;
  expect(limits.take(at("k"), 2, 100).allowed).toBe(true);
});

test("a clock that goes back gives nobody more", () => {
  const { clock, limiter: limits } = limiter();
  clock.time = 1000;
  limits.take(at("k"), 1, 100);
  clock.time = 0;
  expect(limits.take(at("k"), 1, 100)).toEqual({ allowed: false, retryAfterMs: 100 });
});

describe("where more keys are counted than there is room for", () => {
  test("a used-up limit stays used up, and a fresh key is refused until another window is over", () => {
    const { clock, limiter: limits } = limiter({ maxKeys: 3, reservedKeys: 1 });
    expect(limits.take(at("r/mine"), 1, 1000).allowed).toBe(true);
    clock.time = 100;
    for (const key of ["r/a", "r/b"]) expect(limits.take(at(key), 5, 1000).allowed).toBe(true);
    expect(limits.take(at("r/c"), 5, 1000)).toEqual({ allowed: false, retryAfterMs: 900, isFull: true });
    expect(limits.take(at("r/a"), 5, 1000)).toEqual({ allowed: true, left: 3 });
    expect(limits.take(at("r/mine"), 1, 1000)).toEqual({ allowed: false, retryAfterMs: 900 });
    clock.time = 1000;
    expect(limits.take(at("r/c"), 5, 1000)).toEqual({ allowed: true, left: 4 });
    expect(limits.take(at("r/mine"), 1, 1000)).toMatchObject({ allowed: false, isFull: true });
    expect(limits.size).toBe(3);
  });

  test("some keys of each rule find room all the same", () => {
    const { limiter: limits } = limiter({ maxKeys: 10, reservedKeys: 2 });
    for (let nth = 0; nth < 50; nth++) limits.take(at(`flooded/${nth}`), 1, 1000);
    expect(limits.size).toBe(10);
    const other = ["a", "b", "c"].map((key) => limits.take(at(`other/${key}`), 1, 1000).allowed);
    expect(other).toEqual([true, true, false]);
    limits.forgetRules(["flooded"]);
    expect(limits.size).toBe(2);
    expect(limits.take(at("other/c"), 1, 1000).allowed).toBe(true);
  });
});

describe("where more moments are remembered than there is room for", () => {
  test("they are put together, and no window has more than its limit", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 3 }), { minLength: 50, maxLength: 400 }),
        fc.integer({ min: 1, max: 40 }),
        (steps, limit) => {
          const { clock, limiter: limits } = limiter({ maxMoments: 6 });
          const taken: number[] = [];
          for (const step of steps) {
            clock.time += step;
            const inside = taken.filter((moment) => moment > clock.time - 100).length;
            const answer = limits.take(at("k"), limit, 100);
            if (answer.allowed) {
              expect(inside).toBeLessThan(limit);
              taken.push(clock.time);
            }
          }
          // What is put together leaves later, so fewer may be allowed, but never none for longer than a window.
          clock.time += 100;
          expect(limits.take(at("k"), limit, 100).allowed).toBe(true);
        },
      ),
    );
  });

  test("a high limit is kept to within one part in 512 of its window", () => {
    const { clock, limiter: limits } = limiter({ maxMoments: 1_000_000 });
    let allowed = 0;
    for (clock.time = 0; clock.time < 60_000; clock.time++) if (limits.take(at("k"), 30_000, 60_000).allowed) allowed++;
    expect(allowed).toBe(30_000);
    clock.time = 60_000 + 60_000 / 512;
    expect(limits.take(at("k"), 30_000, 60_000).allowed).toBe(true);
  });
});

test("nothing is allowed where the limit is nothing, and nothing is kept of it", () => {
  const { limiter: limits } = limiter();
  expect(limits.take(at("k"), 0, 1000)).toMatchObject({ allowed: false });
  expect(limits.size).toBe(0);
});
