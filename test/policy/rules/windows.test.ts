import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createRateLimiter } from "../../../src/policy/rules/windows.ts";

function limiter(options: { maxKeys?: number; maxMoments?: number } = {}) {
  const clock = { time: 0 };
  const limits = createRateLimiter({ maxKeys: 100, maxMoments: 10_000, now: () => clock.time, ...options });
  return { clock, limiter: limits };
}

test("of a limit of two the third in the window is refused, and told when to come back", () => {
  const { clock, limiter: limits } = limiter();
  expect(limits.take("k", 2, 1000)).toEqual({ allowed: true, left: 1 });
  clock.time = 400;
  expect(limits.take("k", 2, 1000)).toEqual({ allowed: true, left: 0 });
  clock.time = 500;
  expect(limits.take("k", 2, 1000)).toEqual({ allowed: false, retryAfterMs: 500 });
  clock.time = 999;
  expect(limits.take("k", 2, 1000)).toEqual({ allowed: false, retryAfterMs: 1 });
  clock.time = 1000;
  expect(limits.take("k", 2, 1000)).toEqual({ allowed: true, left: 0 });
  expect(limits.take("k", 2, 1000)).toEqual({ allowed: false, retryAfterMs: 400 });
  expect(limits.take("other", 2, 1000)).toEqual({ allowed: true, left: 1 });
});

test("there is no double burst across the edge of a minute", () => {
  const { clock, limiter: limits } = limiter();
  let allowed = 0;
  for (clock.time = 59_900; clock.time < 60_100; clock.time += 10) if (limits.take("k", 5, 60_000).allowed) allowed++;
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
          const answer = limits.take("k", limit, windowMs);
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
  for (let nth = 0; nth < 5; nth++, clock.time += 7) limits.take("k", 5, 100);
  limits.take("k", 2, 100);
  const refused = limits.take("k", 2, 100); // the limit was lowered meanwhile
  if (refused.allowed) throw new Error("allowed");
  clock.time += refused.retryAfterMs - 1;
  expect(limits.take("k", 2, 100).allowed).toBe(false);
  clock.time += 1;
  expect(limits.take("k", 2, 100).allowed).toBe(true);
});

test("a clock that goes back gives nobody more", () => {
  const { clock, limiter: limits } = limiter();
  clock.time = 1000;
  limits.take("k", 1, 100);
  clock.time = 0;
  expect(limits.take("k", 1, 100)).toEqual({ allowed: false, retryAfterMs: 100 });
});

test("keys and moments have bounds, and what was used least lately goes first", () => {
  const { limiter: limits } = limiter({ maxKeys: 3 });
  for (const key of ["a", "b", "c", "a", "d"]) limits.take(key, 10, 1000);
  expect(limits.size).toBe(3);
  expect(limits.take("a", 10, 1000)).toEqual({ allowed: true, left: 7 });
  expect(limits.take("b", 10, 1000)).toEqual({ allowed: true, left: 9 });
  const { limiter: small } = limiter({ maxMoments: 10 });
  for (let nth = 0; nth < 8; nth++) small.take("a", 100, 1000);
  for (let nth = 0; nth < 8; nth++) small.take("b", 100, 1000);
  expect(small.size).toBe(1);
  small.forget((key) => key === "b");
  expect(small.size).toBe(0);
});

test("nothing is allowed where the limit is nothing, and nothing is kept of it", () => {
  const { limiter: limits } = limiter();
  expect(limits.take("k", 0, 1000)).toMatchObject({ allowed: false });
  expect(limits.size).toBe(0);
});
