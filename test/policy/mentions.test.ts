import { expect, test } from "vitest";
import { createNameFinder, MAX_SOUGHT_CHARACTERS, SEARCH_MS } from "../../src/policy/mentions.ts";

test("a name is found wherever it stands in a text", () => {
  const find = createNameFinder(() => 0);
  expect(find('{"data":"\\nsee xdelete_notes"}', ["other", "delete_note"])).toBe(true);
  expect(find('{"data":"delete_not"}', ["other", "delete_note"])).toBe(false);
});

test("names of more than 64 characters are not looked for", () => {
  const find = createNameFinder(() => 0);
  const name = "a".repeat(MAX_SOUGHT_CHARACTERS);
  expect(find(`${name}a`, [name])).toBe(true);
  expect(find(`${name}a`, [`${name}a`])).toBe(false);
});

test("a search ends when its time in this second is used up, and goes on in the next", () => {
  let clock = 5000;
  let looks = 0;
  const slow = { includes: () => ((clock += 5), looks++, false) } as unknown as string;
  const find = createNameFinder(() => clock);
  const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
  expect(find(slow, names)).toBe(false);
  expect(looks).toBe(SEARCH_MS / 5);
  expect(find("n7", ["n7"])).toBe(false);
  clock = 6000;
  expect(find("n7", ["n7"])).toBe(true);
});
