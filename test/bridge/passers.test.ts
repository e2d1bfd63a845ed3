import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createPassers } from "../../src/bridge/passers.ts";

test("what was put in is found, until it is taken out", () => {
  const passers = createPassers<number, string>();
  passers.set(1, "a");
  passers.set(2, "b");
  passers.set(3, "c");
  passers.delete(2);
  passers.delete(4);
  expect(passers.size()).toBe(2);
  expect(passers.get(1)).toBe("a");
  expect(passers.get(2)).toBeUndefined();
  expect(passers.find((value) => value > "a")).toBe("c");
  expect(passers.find((value) => value > "c")).toBeUndefined();
  expect(passers.entries()).toEqual([
    [1, "a"],
    [3, "c"],
  ]);
});

test("entries can be taken out while one looks at them", () => {
  const passers = createPassers<number, string>();
  for (let key = 0; key < 5; key++) passers.set(key, "x");
  for (const [key] of passers.entries()) passers.delete(key);
  expect(passers.size()).toBe(0);
});

test("what is taken out is let go of without a full collection", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "minor" | "major" }) => void;
  const passers = createPassers<number, number[]>();
  const pass = (key: number): void => {
    passers.set(
      key,
      Array.from({ length: 500 }, () => key),
    ); // 4 kB
    passers.delete(key - 32);
  };
  for (let key = 0; key < 100; key++) pass(key);
  collect({ type: "major" }); // from here on its table is old
  const before = process.memoryUsage().heapUsed;
  for (let key = 100; key < 2600; key++) {
    pass(key);
    if (key % 50 === 0) collect({ type: "minor" });
  }
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2_000_000); // a Map would have kept 4 MB
});
