import { expect, test } from "vitest";
import { createScrubber } from "../../src/policy/name-scrubber.ts";

const scrub = createScrubber(["Delete_All", "ΣΤΟΙΧΕΙΟΣ"], ["read_file"])();

test.each([
  ["call Delete_All now", "call [hidden] now"],
  ["call DELETE_ALL now", "call [hidden] now"],
  ["İ call Delete_All now", "İ call [hidden] now"],
  ["İİİ DELETE_ALL İ read_file", "İİİ [hidden] İ read_file"],
  ["ΣΤΟΙΧΕΙΟΣΑ and στοιχειος", "[hidden]Α and [hidden]"],
])("a hidden name is removed whatever stands around it: %s", (text, clean) => {
  expect(scrub(text)).toBe(clean);
});

test("lower case has the length of the text, whatever character is in it", () => {
  // Positions in the lower-case text are positions in the text itself.
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    if (character.toLowerCase().length !== character.length) expect(character).toBe("İ");
  }
});
