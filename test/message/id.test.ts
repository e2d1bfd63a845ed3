import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { guessKey, type Id, isSameId, MAX_ID_BYTES, readId, spell } from "../../src/message/id.ts";

function id(text: string): Id | undefined {
  const bytes = Buffer.from(`  ${text}  `);
  return readId(bytes, 2, bytes.length - 2);
}

function proper(text: string): Id {
  const read = id(text);
  if (read === undefined) throw new Error(`${text} is no id`);
  return read;
}

test.each([
  ["0", 0],
  ["7", 7],
  ["-7", -7],
  ["10", 10],
  ["9007199254740991", 9007199254740991],
  ["-9007199254740991", -9007199254740991],
  ['"a"', "a"],
  ['"é😀"', "é😀"],
  ['"\\u0061"', "a"],
  ['"__proto__"', "__proto__"],
])("%s is an id, and is echoed as it is spelled", (text, key) => {
  expect(proper(text)).toEqual({ key, quoted: text.startsWith('"') ? Buffer.from(text).toString("latin1") : null });
  expect(spell(proper(text))).toBe(Buffer.from(text).toString("latin1"));
});

test.each([
  ["text of a number", '"7"', 7],
  ["hexadecimal", '"0x7"', 7],
  ["octal", '"0o7"', 7],
  ["a fraction of nothing", '"7.0"', 7],
  ["an exponent", '"7e0"', 7],
  ["a sign", '"+7"', 7],
  ["space around it", '" 7\\n"', 7],
  ["nothing at all", '""', 0],
  ["space only", '"  "', 0],
  ["minus zero", '"-0"', 0],
  ["beyond what a double holds", '"9007199254740993"', "9007199254740993"],
  ["no number", '"7a"', "7a"],
  ["Infinity", '"Infinity"', "Infinity"],
])("%s in quotes is found by what Number() makes of it", (_what, text, key) => {
  expect(proper(text).key === key || Object.is(proper(text).key, -0)).toBe(true);
  expect(spell(proper(text))).toBe(text);
});

test.each([
  "1.0",
  "1.5",
  "1e0",
  "1E2",
  "-0",
  "9007199254740992",
  "9007199254740993",
  "-9007199254740992",
  "1".repeat(30),
])("%s is no id", (text) => expect(id(text)).toBeUndefined());

test.each(["null", "true", "false", "[1]", "{}", '"\\ud800"', '"\\udc00\\ud800"'])("%s is no id", (text) => {
  expect(id(text)).toBeUndefined();
});

test("an id of a kilobyte is an id, and a longer one is none", () => {
  expect(id(`"${"x".repeat(MAX_ID_BYTES - 2)}"`)).toBeDefined();
  expect(id(`"${"x".repeat(MAX_ID_BYTES - 1)}"`)).toBeUndefined();
});

test("every safe integer is read as the number it is", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (number) => {
      const text = String(number);
      expect(id(text)).toEqual({ key: number, quoted: null });
      expect(String(number)).toBe(text);
    }),
  );
});

describe("an answer's id", () => {
  test.each([
    ["7", "7"],
    ["7", '"7"'],
    ['"7"', "7"],
    ['"a"', '"\\u0061"'],
    ['"é"', '"\\u00e9"'],
    ['"7.0"', '"7.0"'],
    ['"/"', '"\\/"'],
  ])("for %s may be %s", (one, other) => {
    expect(proper(one).key).toBe(proper(other).key);
    expect(isSameId(proper(other), proper(one))).toBe(true);
  });

  test.each([
    ["7", '"7.0"'],
    ["7", '"0x7"'],
    ["7", '"+7"'],
    ["7", '" 7"'],
    ["7", '"7e0"'],
    ["0", '""'],
    ["0", '"-0"'],
    ['"7.0"', "7"],
    ['"a"', '"A"'],
  ])("for %s may not be %s", (one, other) => {
    expect(isSameId(proper(other), proper(one))).toBe(false);
  });
});

test.each([
  ["7.0", 7],
  ["7e0", 7],
  ["70e-1", 7],
  ["true", 1],
  ["false", 0],
  ['"0x7"', 7],
  ["7.5", undefined],
  ["null", undefined],
  ["[7]", undefined],
  ["{}", undefined],
  ["1e400", undefined],
  ["9007199254740993", undefined],
])("a loose peer would look %s up as %s", (text, key) => {
  const bytes = Buffer.from(`,${text},`);
  expect(guessKey(bytes, 1, bytes.length - 1)).toBe(key);
});
