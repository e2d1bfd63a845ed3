import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createFieldMemo } from "../../src/rules/fields.ts";
import { equalTo, isAnyOf, isValue } from "../../src/rules/values.ts";
import type { Json } from "../../src/message/json.ts";

function isEqual(text: string, value: Json): boolean {
  const bytes = Buffer.from(`  ${text} `);
  const span = { start: 2, end: bytes.length - 1 };
  const seen = createFieldMemo({ bytes, ...span }).seen[0];
  if (seen === undefined || seen === null) throw new Error("nothing there");
  const answer = equalTo(value)(bytes, span);
  // A value that has been looked up is compared alike, also the second time.
  expect([
    isValue(value)(seen),
    isValue(value)(seen),
    isAnyOf(["no", value, -77])(seen),
    isAnyOf(["v", "w", "x", "y", "z", "no", value, -77])(seen),
  ]).toEqual([
    answer,
    answer,
    answer || text === '"no"' || text === "-77",
    answer || text === '"no"' || text === "-77" || /^"[v-z]"$/.test(text),
  ]);
  return answer;
}

test.each<[string, Json, boolean]>([
  ["1.0", 1, true],
  ["9007199254740993", 9007199254740993n, true],
  ["9007199254740992", 9007199254740993n, false],
  ["1e400", 1, false],
  ['"1"', 1, false],
  ["null", null, true],
  ["0", null, false],
  ["true", true, true],
  ["false", true, false],
  ['"t"', true, false],
  ['"\\u0061b"', "ab", true],
  ['"a\\/b"', "a/b", true],
  ['"é"', "é", true],
  ['"ab"', "a", false],
  ["[]", [], true],
  ["[ ]", {}, false],
  ["[1,2]", [1, 2], true],
  ["[1,2]", [2, 1], false],
  ["[1]", [1, 2], false],
  ["[1,2,3]", [1, 2], false],
  ['{"b":2 , "a":1}', { a: 1, b: 2 }, true],
  ['{"a":1}', { a: 1, b: 2 }, false],
  ['{"a":1,"b":2,"c":3}', { a: 1, b: 2 }, false],
  ['{"constructor":1}', {}, false],
  ['{"a":{"b":[{"c":null}]}}', { a: { b: [{ c: null }] } }, true],
])("%s and %o: %s", (text, value, equal) => {
  expect(isEqual(text, value)).toBe(equal);
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;

test("a value equals its own text, whatever the order of its members", () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(isEqual(JSON.stringify(value), value)).toBe(true);
      expect(isEqual(JSON.stringify(reversed(value), null, " "), value)).toBe(true);
      expect(isEqual(JSON.stringify([value]), value)).toBe(false);
    }),
  );
});

test("two values are equal when they are the same in canonical form", () => {
  fc.assert(
    fc.property(json, json, (one, other) => {
      const wanted = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
      expect(isEqual(JSON.stringify(one), other)).toBe(wanted);
    }),
  );
});

function reversed(value: Json): Json {
  return mapMembers(value, (members) => members.toReversed());
}

function sorted(value: Json): Json {
  return mapMembers(value, (members) => members.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function mapMembers(value: Json, change: (members: [string, Json][]) => [string, Json][]): Json {
  if (Array.isArray(value)) return value.map((element: Json) => mapMembers(element, change));
  if (value === null || typeof value !== "object") return Object.is(value, -0) ? 0 : value;
  const members = Object.entries(value).map(([key, member]): [string, Json] => [key, mapMembers(member, change)]);
  return Object.fromEntries(change(members));
}
