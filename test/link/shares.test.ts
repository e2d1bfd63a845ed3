import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createShares } from "../../src/link/shares.ts";

/** Takes places until there is none, and says how many those were. */
function takeAll(shares: ReturnType<typeof createShares>, client: string): number {
  let taken = 0;
  while (shares.take(client)) taken++;
  return taken;
}

test("one client has three quarters of the places, and the others share the rest", () => {
  const shares = createShares(100);
  expect(takeAll(shares, "greedy")).toBe(75);
  expect(takeAll(shares, "other")).toBe(25);
  expect(shares.take("third")).toBe(false);
});

test("who has less than a quarter gets what is left, one by one", () => {
  const shares = createShares(100);
  takeAll(shares, "greedy");
  const others = Array.from({ length: 25 }, (_, nth) => shares.take(`client ${nth}`));
  expect(others.every((isTaken) => isTaken)).toBe(true);
  expect(shares.take("one more")).toBe(false);
  shares.give("greedy");
  expect([shares.take("greedy"), shares.take("one more")]).toEqual([false, true]);
});

test("a single place is there for anybody", () => {
  const shares = createShares(1);
  expect([shares.take("a"), shares.take("b")]).toEqual([true, false]);
  shares.give("a");
  expect(shares.take("b")).toBe(true);
});

test("there are never more taken than there are places, and what is given back can be taken again", () => {
  const step = fc.record({ client: fc.constantFrom("a", "b", "c"), isGiving: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step), (places, steps) => {
      const shares = createShares(places);
      const held: string[] = [];
      for (const { client, isGiving } of steps) {
        const index = held.indexOf(client);
        if (isGiving && index >= 0) {
          shares.give(client);
          held.splice(index, 1);
        } else if (shares.take(client)) held.push(client);
        expect(shares.taken).toBe(held.length);
        expect(held.length).toBeLessThanOrEqual(places);
      }
      for (const client of held) shares.give(client);
      expect(shares.taken).toBe(0);
      expect(takeAll(shares, "a")).toBe(places - Math.floor(places / 4));
    }),
  );
});
