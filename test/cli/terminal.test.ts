import * as fc from "fast-check";
import { expect, test } from "vitest";
import { columnsOf, pad, widthOf, wrapText } from "../../src/cli/terminal.ts";

test.each([
  ["", 0],
  ["read_file", 9],
  ["e\u0301", 1],
  ["読む", 4],
  ["🚀x", 3],
])("%j takes %i columns", (text, width) => expect(widthOf(text)).toBe(width));

test("cells are as wide as they look", () => {
  expect(pad("読む", 6, "left")).toBe("読む  ");
  expect(pad("12", 4, "right")).toBe("  12");
  expect(pad("too long", 3, "left")).toBe("too long");
});

test("no line is wider than the terminal, and no word is lost", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 200 });
  fc.assert(
    fc.property(text, fc.integer({ min: 4, max: 60 }), (words, columns) => {
      const lines = wrapText(words, columns);
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
      expect(lines.join("").replaceAll(" ", "")).toBe(words.replaceAll(" ", ""));
    }),
  );
});

test("a terminal that says it is narrower than anything gets a few columns all the same", () => {
  expect(columnsOf({})).toBe(80);
  expect(columnsOf({ columns: 132 })).toBe(132);
  expect(columnsOf({ columns: 0 })).toBe(20);
});
