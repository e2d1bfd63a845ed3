import { expect, test } from "vitest";
import { wantsColor } from "../../src/cli/output.ts";

test("colours are for terminals, and only where nobody said no", () => {
  expect(wantsColor({ isTTY: true }, {})).toBe(true);
  expect(wantsColor({ isTTY: true }, { NO_COLOR: "" })).toBe(true);
  expect(wantsColor({ isTTY: true }, { NO_COLOR: "1" })).toBe(false);
  expect(wantsColor({ isTTY: true }, { TERM: "dumb" })).toBe(false);
  expect(wantsColor({}, {})).toBe(false);
});
