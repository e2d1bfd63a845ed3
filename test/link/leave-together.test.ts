import { expect, test } from "vitest";
import { leaveTogether } from "../../src/link/leave-together.ts";

test("all leave in order when this turn of the event loop is over, and who comes meanwhile leaves with the next", async () => {
  const left: string[] = [];
  leaveTogether(() => left.push("a"));
  leaveTogether(() => {
    left.push("b");
    leaveTogether(() => left.push("d"));
  });
  leaveTogether(() => left.push("c"));
  expect(left).toEqual([]);
  await new Promise(setImmediate);
  expect(left).toEqual(["a", "b", "c"]);
  await new Promise(setImmediate);
  expect(left).toEqual(["a", "b", "c", "d"]);
});
