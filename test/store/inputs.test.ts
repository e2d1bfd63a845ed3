import { expect, test } from "vitest";
import { createInputBook } from "../../src/store/inputs.ts";

test("questions with long names are forgotten for others, the oldest first", () => {
  const book = createInputBook(() => 0, 100);
  for (let nth = 0; nth < 20; nth++) {
    const methods = new Map([[`${nth}`.padEnd(1024 * 1024, "k"), "roots/list"]]);
    book.remember("me", `${nth}`, { hash: null, charged: [], methods });
  }
  expect(book.characters).toBeLessThanOrEqual(8 * 1024 * 1024);
  expect(book.find("me", "0")).toBeUndefined();
  expect(book.find("me", "19")?.methods.size).toBe(1);
});
