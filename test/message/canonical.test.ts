import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalBytes, canonicalText } from "../../src/message/canonical.ts";
import { canonicalNumber } from "../../src/message/canonical-number.ts";
import { jsonText } from "../fuzz/json-texts.ts";
import { readJson } from "../fuzz/naive-json.ts";
import { createRandom } from "../fuzz/random.ts";
import { cpuTime } from "../support/cpu.ts";
import { runs } from "../support/runs.ts";

const canonical = (text: string, ...without: string[]): string => {
  const bytes = Buffer.from(text);
  return canonicalText(bytes, { start: 0, end: bytes.length }, without);
};

describe("a number has one text, by its exact value", () => {
  test.each([
    ["0", "0"],
    ["-0", "0"],
    ["0.000e5", "0"],
    ["1.0", "1"],
    ["1e2", "100"],
    ["1E+2", "100"],
    ["100", "100"],
    ["-1200", "-1200"],
    ["0.50", "5e-1"],
    ["5e-1", "5e-1"],
    ["9007199254740993", "9007199254740993"],
    ["9007199254740993.0", "9007199254740993"],
    ["1e400", `1${"0".repeat(400)}`],
    ["1e401", "1e401"],
    ["1e0000000000000000000002", "100"],
    [`1${"0".repeat(500)}`, "1e500"],
    ["1e-99999999999999999999", "1e-99999999999999999999:0"],
  ])("%s is %s", (text, wanted) => {
    expect(canonicalNumber(text)).toBe(wanted);
  });

  test("and is taken for the same number by others", () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        (number) => Number(canonicalNumber(JSON.stringify(number))) === (number === 0 ? 0 : number),
      ),
      {
        examples: [[1e21], [5e-324], [1.7976931348623157e308]],
      },
    );
  });

  test("also when it is as long as a message", async () => {
    const took = await cpuTime(() => {
      canonicalNumber(`1e${"9".repeat(5_000_000)}`);
      canonicalNumber(`${"9".repeat(5_000_000)}.${"0".repeat(5_000_000)}`);
    });
    expect(took).toBeLessThan(3000);
  });
});

test("space, order and escapes make no difference, and values do", () => {
  expect(canonical('{ "b" : [ 1.0 , "\\u0041" ] , "a" : { } }')).toBe('{"a":{},"b":[1,"A"]}');
  expect(canonical('{"a":"1"}')).not.toBe(canonical('{"a":1}'));
  expect(canonical('["a","b"]')).not.toBe(canonical('["b","a"]'));
});

test("members may be left out, at the top only", () => {
  expect(canonical('{"_meta":{},"a":{"_meta":1},"name":"x"}', "_meta", "name")).toBe('{"a":{"_meta":1}}');
});

const read = (one: string): unknown => JSON.parse(one, (_, value: unknown) => (value === 0 ? 0 : value));

test("it is the value, and its own canonical text", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const text = jsonText(createRandom(seed)).trim();
      if (readJson(Buffer.from(text)).tree === null) return;
      const once = canonical(text);
      expect(canonical(once)).toBe(once);
      expect(once).not.toMatch(/[\n\r\t]/);
      // 1e400 is infinite to JSON.parse in either spelling, and -0 is 0.
      expect(read(once)).toEqual(read(text));
    }),
    { numRuns: runs(1000) },
  );
});

test("a value as deep as any is walked over once", async () => {
  const wide = `[${"1,".repeat(1_000_000)}1]`;
  const text = "[".repeat(120) + wide + "]".repeat(120);
  expect(await cpuTime(() => expect(canonical(text)).toBe(text))).toBeLessThan(4000);
});

function onWork(): void {
  throw new Error("enough");
}

describe("many members", () => {
  const keys = fc.oneof(
    fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 }),
    fc.string({ unit: "grapheme", maxLength: 3 }),
    fc.string({ unit: fc.constantFrom("a", "\n", "é", "\uffff", "😀", '"', "\ud800"), maxLength: 4 }),
  );

  test("are in the order of their keys, however these are spelled", () => {
    fc.assert(
      fc.property(fc.uniqueArray(keys, { maxLength: 300 }), fc.boolean(), (some, isEscaped) => {
        const spell = (key: string): string =>
          isEscaped ? JSON.stringify(key).replaceAll("a", "\\u0061").replaceAll("é", "\\u00E9") : JSON.stringify(key);
        const sorted = some.toSorted((one, other) => (one < other ? -1 : 1));
        const wanted = `{${sorted
          .map((key) => `${JSON.stringify(key)}:{"a":[1.50],"b":${JSON.stringify(key)}}`)
          .join(",")}}`;
        const members = some.map((key) => `${spell(key)}:{"b":${JSON.stringify(key)},"a":[1.50]}`);
        const bytes = Buffer.from(`{${members.join(" , ")}}`);
        const written = canonicalBytes(bytes, { start: 0, end: bytes.length }, { numbers: "spelled" });
        expect(written.toString()).toBe(wanted);
      }),
      { numRuns: runs(500) },
    );
  });

  test("are counted as work, and whoever counts can stop it", () => {
    const some = Array.from({ length: 1000 }, (_, nth) => `"${1000 - nth}":0`);
    const bytes = Buffer.from(`{${some.join(",")}}`);
    let work = 0;
    canonicalBytes(bytes, { start: 0, end: bytes.length }, { onWork: (steps) => void (work += steps) });
    expect(work).toBeGreaterThan(1000);
    expect(() => canonicalBytes(bytes, { start: 0, end: bytes.length }, { onWork })).toThrow("enough");
  });
});

test("numbers whose zeros would take more room than there is are not written out", () => {
  const bytes = Buffer.from(`[${"1e400,".repeat(700_000)}1]`);
  expect(() => canonicalText(bytes, { start: 0, end: bytes.length })).toThrow("too many digits");
});
