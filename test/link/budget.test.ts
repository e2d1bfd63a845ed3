import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Budget, type Claim, createBudget, STANDSTILL_MS, TURN_MS } from "../../src/link/budget.ts";
import { runs } from "../support/runs.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const now = (): number => Date.now();
const MAX = 1_000_000;

interface Held {
  readonly claim: Claim;
  isPaused: boolean;
  isCut: boolean;
}

function hold(budget: Budget, bytes: number): Held {
  const held: Held = {
    claim: budget.claim({
      pause: () => (held.isPaused = true),
      resume: () => (held.isPaused = false),
      cut() {
        held.isCut = true;
        held.claim.release();
      },
    }),
    isPaused: false,
    isCut: false,
  };
  held.claim.weigh(bytes);
  return held;
}

test("what fits does not wait; one byte more does, until there is room", () => {
  const budget = createBudget(MAX, now);
  const first = hold(budget, MAX);
  expect(budget.isShort).toBe(false);
  const privileged = hold(budget, 1);
  expect([first.isPaused, budget.isShort]).toEqual([false, true]);
  const second = hold(budget, 1);
  expect([privileged.isPaused, second.isPaused]).toEqual([false, true]); // one at a time goes on
  let isReady = false;
  budget.whenRoom(() => (isReady = true));
  first.claim.weigh(MAX - 2);
  expect([second.isPaused, isReady, budget.isShort]).toEqual([false, true, false]);
});

test("with all memory in messages that are not whole, one after the other goes on", () => {
  const budget = createBudget(MAX, now);
  const all = Array.from({ length: 10 }, () => hold(budget, MAX / 10));
  for (const each of all) each.claim.weigh(MAX / 10 + 1);
  for (let done = 0; done < 10; done++) {
    const next = all.find(({ isPaused }) => !isPaused);
    expect(next).toBeDefined();
    next?.claim.weigh(MAX / 10 + 1000);
    next?.claim.release();
    if (next !== undefined) all.splice(all.indexOf(next), 1);
  }
  expect(all).toEqual([]);
});

test("who may go on and has nothing to go on with is given up, and the next one has its turn", () => {
  const budget = createBudget(MAX, now);
  const [one, other] = [hold(budget, MAX / 2 + 1), hold(budget, MAX / 2 + 1)];
  one.claim.weigh(MAX / 2 + 2);
  expect([one.isPaused, other.isPaused]).toEqual([true, false]);
  vi.advanceTimersByTime(TURN_MS + 300);
  expect([one.isPaused, one.isCut, other.isCut]).toEqual([false, false, true]);
});

test("what cannot be paused does not wait, and is given up when its reader stands still", () => {
  const budget = createBudget(MAX, now);
  let unread = 100;
  let isCut = false;
  const claim = budget.claim({
    cut() {
      isCut = true;
      claim.release();
    },
    pulse: () => unread,
  });
  claim.weigh(MAX);
  hold(budget, 10);
  const waiting = hold(budget, 10);
  expect(waiting.isPaused).toBe(true);
  for (let step = 0; step < 3; step++) {
    unread--;
    vi.advanceTimersByTime(STANDSTILL_MS - 500);
    expect(isCut).toBe(false);
  }
  vi.advanceTimersByTime(STANDSTILL_MS + 500);
  expect(isCut).toBe(true);
});

describe("where others wait for room", () => {
  test("what stands still is given up, and what moves is not", () => {
    const budget = createBudget(MAX, now);
    const unread = hold(budget, MAX / 2);
    const read = hold(budget, MAX / 2);
    hold(budget, 10);
    const waiting = hold(budget, 10);
    expect(waiting.isPaused).toBe(true);
    for (let bytes = MAX / 2 - 1; !unread.isCut && bytes > MAX / 2 - 40; bytes--) {
      vi.advanceTimersByTime(STANDSTILL_MS / 10);
      read.claim.weigh(bytes);
    }
    expect([unread.isCut, read.isCut, waiting.isPaused, waiting.isCut]).toEqual([true, false, false, false]);
  });

  test("only as much is given up as is needed, the one that has stood longest first", () => {
    const budget = createBudget(MAX, now);
    const all = Array.from({ length: 4 }, () => {
      vi.advanceTimersByTime(1);
      return hold(budget, MAX / 4);
    });
    hold(budget, 10);
    hold(budget, 10);
    vi.advanceTimersByTime(STANDSTILL_MS + 500);
    expect(all.map(({ isCut }) => isCut)).toEqual([true, false, false, false]);
  });
});

test("where nobody waits, nothing is given up, however long it stands still", () => {
  const budget = createBudget(MAX, now);
  const unread = hold(budget, MAX);
  vi.advanceTimersByTime(100 * STANDSTILL_MS);
  expect(unread.isCut).toBe(false);
});

test("whatever comes and goes, memory stays within one and a half times the budget, and nobody waits for ever", () => {
  const step = fc.record({ who: fc.nat(9), bytes: fc.nat(400_000), pause: fc.nat(3000), isOver: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = createBudget(MAX, now);
      const all = new Map<number, Held & { bytes: number }>();
      for (const { who, bytes, pause, isOver } of steps) {
        let each = all.get(who);
        if (each === undefined || each.isCut) each = Object.assign(hold(budget, 0), { bytes: 0 });
        all.set(who, each);
        if (!each.isPaused) {
          each.bytes = each.bytes + bytes / 10;
          each.claim.weigh(each.bytes);
        }
        if (isOver && !each.isPaused) {
          each.claim.release();
          all.delete(who);
        }
        vi.advanceTimersByTime(pause);
        const total = [...all.values()].reduce((sum, held) => sum + (held.isCut ? 0 : held.bytes), 0);
        expect(total).toBeLessThanOrEqual(1.5 * MAX + 400_000);
      }
      vi.advanceTimersByTime(60 * STANDSTILL_MS);
      expect([...all.values()].every(({ isPaused, isCut }) => isCut || !isPaused)).toBe(true);
    }),
    { numRuns: runs(300) },
  );
});
