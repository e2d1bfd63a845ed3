import { expect, test } from "vitest";
import { createPaint, wantsColor } from "../../src/cli/output.ts";

test("colours are for terminals, and only where nobody said no", () => {
  expect(wantsColor({ isTTY: true }, {})).toBe(true);
  expect(wantsColor({ isTTY: true }, { NO_COLOR: "" })).toBe(true);
  expect(wantsColor({ isTTY: true }, { NO_COLOR: "1" })).toBe(false);
  expect(wantsColor({ isTTY: true }, { TERM: "dumb" })).toBe(false);
  expect(wantsColor({}, {})).toBe(false);
});

test("FORCE_COLOR decides before all else", () => {
  expect(wantsColor({}, { FORCE_COLOR: "1" })).toBe(true);
  expect(wantsColor({}, { FORCE_COLOR: "true", NO_COLOR: "1" })).toBe(true);
  expect(wantsColor({}, { FORCE_COLOR: "" })).toBe(false);
  expect(wantsColor({ isTTY: true }, { FORCE_COLOR: "0" })).toBe(false);
  expect(wantsColor({ isTTY: true }, { FORCE_COLOR: "false" })).toBe(false);
});

test("what is painted ends in the colour it began with", () => {
  expect(createPaint({ isTTY: true }, {})("red", "no")).toBe("\u001B[31mno\u001B[0m");
  expect(createPaint({ isTTY: true }, {})("red", "")).toBe("");
  expect(createPaint({}, {})("red", "no")).toBe("no");
});
