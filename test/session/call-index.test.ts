import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createCallIndex } from "../../src/session/call-index.ts";
import { type Call, createCall } from "../../src/session/call.ts";
import { describeMethod } from "../../src/message/methods.ts";
import { runs } from "../support/runs.ts";

function call(key: number | string): Call {
  const method = describeMethod("ping");
  if (method === null) throw new Error("ping is a method");
  return createCall({ key, quoted: null }, method, null, null, "stateful", 0, 0, null);
}

test("an index holds what a map would, in the same order", () => {
  const key = fc.oneof(
    fc.integer({ min: -20, max: 20 }),
    fc.integer({ min: -4, max: 4 }).map((number) => number * 1024),
    fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER, -(2 ** 31), "0", "1", "a", "__proto__"),
  );
  fc.assert(
    fc.property(fc.array(key, { maxLength: 80 }), (keys) => {
      const index = createCallIndex();
      const model = new Map<number | string, Call>();
      for (const each of keys) {
        // The first time a key comes it is added, the next time it is removed.
        const known = model.get(each);
        expect(index.get(each)).toBe(known);
        expect(index.remove(call(each))).toBe(false);
        if (known === undefined) {
          const added = call(each);
          index.add(added);
          model.set(each, added);
        } else {
          expect(index.remove(known)).toBe(true);
          expect(index.remove(known)).toBe(false);
          model.delete(each);
        }
        expect(index.size).toBe(model.size);
      }
      expect(index.values()).toEqual([...model.values()]);
      for (const each of keys) expect(index.get(each)).toBe(model.get(each));
    }),
    { numRuns: runs(1000) },
  );
});

test("thousands of calls at once are found, whatever their ids have in common", () => {
  for (const step of [1, 3, 64, 1024, 4096]) {
    const index = createCallIndex();
    const calls = Array.from({ length: 5000 }, (_, nth) => call(nth * step));
    for (const each of calls) index.add(each);
    expect(calls.every((each) => index.get(each.id.key) === each)).toBe(true);
    expect(index.values()).toEqual(calls);
    for (const each of calls) index.remove(each);
    expect(index.size).toBe(0);
    expect(index.get(0)).toBeUndefined();
  }
});
