import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  createFieldMemo,
  createFieldTable,
  findField,
  kindAt,
  lookUp,
  numberAt,
  spanOf,
  textAt,
} from "../../src/rules/fields.ts";
import type { Field } from "../../src/message/field.ts";
import { jsonText, messageText } from "../fuzz/json-texts.ts";
import { readJson, type Tree } from "../fuzz/naive-json.ts";
import { leastCpuTime } from "../support/cpu.ts";
import { createRandom } from "../fuzz/random.ts";
import { runs } from "../support/runs.ts";

function field(...steps: (string | number)[]): Field {
  return { text: steps.join("."), steps };
}

/** Every way into a value, and where it leads. */
function everyWay(
  tree: Tree,
  steps: readonly (string | number)[] = [],
): { steps: readonly (string | number)[]; tree: Tree }[] {
  return [
    { steps, tree },
    ...tree.elements.flatMap((element, index) => everyWay(element, [...steps, index])),
    ...tree.members.flatMap(({ key, value }) => everyWay(value, [...steps, key])),
  ];
}

test("every way into a value leads to where a plain reader finds it, with and without a memory", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createRandom(seed);
      const bytes = Buffer.from(random.chance(0.5) ? jsonText(random) : messageText(random));
      const reading = readJson(bytes);
      if (reading.fault !== null) return;
      const { tree } = reading;
      const table = createFieldTable();
      const whole = { bytes, start: tree.start, end: tree.end };
      const memo = createFieldMemo(whole);
      // As a policy does: all ways are known before any is gone.
      const ways = everyWay(tree).map(({ steps, tree: wanted }) => ({
        wanted,
        way: field(...steps),
        missing: [field(...steps, "missing"), field(...steps, wanted.elements.length, 0)].map((one) =>
          table.intern(one),
        ),
        last: table.intern(field(...steps)),
      }));
      for (const { wanted, way, last, missing } of ways) {
        const seen = lookUp(memo, last);
        for (const found of [seen === null ? null : spanOf(seen), findField(whole, way)]) {
          expect(found).toEqual({ start: wanted.start, end: wanted.end });
        }
        for (const one of missing) expect(lookUp(memo, one)).toBeNull();
        const text = bytes.toString("utf8", wanted.start, wanted.end);
        const value: unknown = JSON.parse(text);
        const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
        expect(kindAt(bytes, wanted.start)).toBe(kind);
        expect(textAt(bytes, wanted)).toBe(typeof value === "string" ? value : null);
        expect(numberAt(bytes, wanted)).toBe(typeof value === "number" ? text : null);
      }
    }),
    { numRuns: runs(300) },
  );
});

test.each<[string, (string | number)[], string | null]>([
  ['{"arguments":{"path":"/a"}}', ["arguments", "path"], '"/a"'],
  ['{"content":[{"text":"x"},{"text":"y"}]}', ["content", 1, "text"], '"y"'],
  ['{"a":{"0":5}}', ["a", 0], "5"],
  ['{"a":[5]}', ["a", "0"], null],
  ['{"a":[5]}', ["a", -1], null],
  ['{"a":[5]}', ["a", 0.5], null],
  ['{"\\u0061":{"b\\/c":1}}', ["a", "b/c"], "1"],
  ['{"ab":1,"a":2}', ["a"], "2"],
  ['{"é":1}', ["é"], "1"],
  ['{"\\u00e9":1}', ["é"], "1"],
  ['{"":{"":7}}', ["", ""], "7"],
  ['{"\\t":1}', ["\\t"], null],
  ['{"\\\\t":1}', ["\\t"], "1"],
  ['{"\\t":1}', ["\t"], "1"],
  ['{"a\\"b":1}', ['a"b'], "1"],
  ['"text"', ["length"], null],
  ["{}", ["constructor"], null],
  ["{}", ["__proto__"], null],
  ['{"a":1}', [], '{"a":1}'],
])("in %s %j is %s", (text, steps, wanted) => {
  const bytes = Buffer.from(text);
  const found = findField({ bytes, start: 0, end: bytes.length }, field(...steps));
  expect(found === null ? null : bytes.toString("utf8", found.start, found.end)).toBe(wanted);
});

test("ways that begin alike share their steps", () => {
  const table = createFieldTable();
  expect(table.intern(field("a", "b"))).toBe(table.intern(field("a", "b")));
  expect(table.intern(field("a", "c"))?.from).toBe(table.intern(field("a")));
  expect(table.intern(field("0"))).not.toBe(table.intern(field(0)));
});

test("many ways on from one large object do not go through it one by one", async () => {
  const members = Array.from({ length: 100_000 }, (_, nth) => `"\\u0061${nth}":0`).join(",");
  const bytes = Buffer.from(`{${members},"f7":1}`);
  const table = createFieldTable();
  const ways = Array.from({ length: 200 }, (_, nth) => table.intern(field(`f${nth}`)));
  const took = await leastCpuTime(() => {
    const memo = createFieldMemo({ bytes, start: 0, end: bytes.length });
    const found = ways.flatMap((way, nth) => (lookUp(memo, way) === null ? [] : [nth]));
    expect(found).toEqual([7]);
  }, 2);
  expect(took).toBeLessThan(1000);
});
