import { expect, test } from "vitest";
import { nearest } from "../../src/text/nearest.ts";

test("the nearest word is one that is near", () => {
  expect(nearest("tolos", ["tools", "demo"])).toBe("tools");
  expect(nearest("npx", ["tools", "demo", "audit"])).toBeNull();
});
