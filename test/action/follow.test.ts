import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { follow } from "../../src/action/follow.ts";
import { splice } from "../../src/message/edit.ts";
import { whole } from "../../src/message/message.ts";
import { jsonText } from "../fuzz/json-texts.ts";
import { readJson } from "../fuzz/naive-json.ts";
import { createRandom } from "../fuzz/random.ts";
import { leastCpuTime } from "../support/cpu.ts";
import { runs } from "../support/runs.ts";

/** One text made to say what another says. */
function followed(before: string, wanted: string): string {
  const value = whole(Buffer.from(before));
  const other = whole(Buffer.from(wanted));
  return splice(value, follow({ bytes: value.bytes, span: value }, { bytes: other.bytes, span: other })).toString(
    "utf8",
  );
}

describe("what is the same keeps its bytes", () => {
  test.each([
    ['{ "a" : 1.0 , "b" : "\\u0041" }', '{"b":"A","a":1}', '{ "a" : 1.0 , "b" : "\\u0041" }'],
    ['{ "a" : 1 , "b" : 2 }', '{"b":3,"a":1}', '{ "a" : 1 , "b" : 3 }'],
    ['{ "a" : 1 , "b" : 2 }', '{"a":1,"c":3}', '{ "a" : 1,"c":3 }'],
    ['{ "a" : 1 }', '{"c":3,"d":4}', '{ "c":3,"d":4 }'],
    ["{ }", '{"c":3}', '{"c":3 }'],
    ["[ 1 , 2 , 3 ]", "[1]", "[ 1 ]"],
    ["[ 1 ]", "[1,2,[3]]", "[ 1,2,[3] ]"],
    ["[]", "[1]", "[1]"],
    ["[1]", "[]", "[]"],
    ['{"a":{"b":[1]}}', '{"a":{"b":{}}}', '{"a":{"b":{}}}'],
    ['{"a":1}', '{"a":[\n1,\r\n2]}', '{"a":[ 1,  2]}'],
    ["null", "false", "false"],
    // Given back as those can who read numbers as most do.
    ["9007199254740993", "9007199254740992", "9007199254740993"],
    ["9007199254740993", "9007199254740994", "9007199254740994"],
    ["0.10000000000000000001", "0.1", "0.10000000000000000001"],
    ['"1"', "1", "1"],
    ["1e400", "null", "null"],
  ])("%s as %s is %s", (before, wanted, after) => {
    expect(followed(before, wanted)).toBe(after);
  });
});

test("a large value is walked over once, however deep it is and in whatever order its members are", async () => {
  const list = `[0${" ".repeat(4_000_000)}]`;
  const deep = (before: string, after: string): string => before.repeat(100) + list + after.repeat(100);
  const arrays = deep("[", "]");
  const objects = deep('{"a":', ',"0":0}');
  const reordered = deep('{"0":0,"a":', "}");
  expect(await leastCpuTime(() => followed(arrays, arrays), 2)).toBeLessThan(900);
  expect(await leastCpuTime(() => followed(objects, reordered), 2)).toBeLessThan(900);
});

const read = (text: string): unknown => JSON.parse(text, (_, value: unknown) => (value === 0 ? 0 : value));

test("any value can be made to say what any other says", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createRandom(seed);
      const [before, wanted] = [jsonText(random).trim(), jsonText(random).trim()];
      if ([before, wanted].some((text) => readJson(Buffer.from(text)).tree === null)) return;
      expect(read(followed(before, wanted))).toEqual(read(wanted));
      expect(followed(before, before)).toBe(before);
      // Whoever parses it and writes it again has changed nothing.
      if (!before.includes("e400")) expect(followed(before, JSON.stringify(JSON.parse(before)))).toBe(before);
    }),
    { numRuns: runs(1500) },
  );
});
