import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseField } from "../../src/config/fields.ts";
import { isFlaw } from "../../src/config/mistake.ts";
import { runs } from "../support/runs.ts";

const steps = (text: string): unknown => {
  const found = parseField(text);
  return isFlaw(found) ? `${found.at}: ${found.message}` : found.steps;
};

describe("a field is", () => {
  test.each([
    ["name", ["name"]],
    ["arguments.path", ["arguments", "path"]],
    ["content[0].text", ["content", 0, "text"]],
    ["content.0.text", ["content", 0, "text"]],
    ["a[0][1]", ["a", 0, 1]],
    ['a["x.y"].z', ["a", "x.y", "z"]],
    ["a['it''s']", "1: What stands in brackets is an index or a quoted key"],
    ['a["say \\"hi\\""]', ["a", 'say "hi"']],
    ['"x.y".z', ["x.y", "z"]],
    ['a."b c"', ["a", "b c"]],
    ["_meta.io.modelcontextprotocol/x", ["_meta", "io", "modelcontextprotocol/x"]],
    ["größe", ["größe"]],
    ["/arguments/path", ["arguments", "path"]],
    ["/a~1b/~0c/~01/0/", ["a/b", "~c", "~1", 0, ""]],
    ["/", [""]],
    ["/a/01", ["a", "01"]],
  ])("%s", (text, expected) => {
    expect(steps(text)).toEqual(expected);
  });
});

describe("no field is", () => {
  test.each([
    ["", "0: A field is empty"],
    ["a.", "1: A field ends with a dot"],
    ["a..b", "2: A key is missing between two dots"],
    [".a", "0: A key is missing between two dots"],
    ["a[", "1: What stands in brackets is an index or a quoted key"],
    ["a[-1]", "1: What stands in brackets is an index or a quoted key"],
    ["a[0]b", '4: "b" cannot stand here in a field'],
    ["a b", '1: " " cannot stand here in a field'],
    ["a.*", "2: A field has no wildcards"],
    ["$.a", "0: A field begins with its first key"],
    ["/a/~2", "3: A ~ in a JSON Pointer stands before 0 or 1"],
    ["__proto__", "0: __proto__ cannot be part of a field"],
    ['a["__proto__"]', "3: __proto__ cannot be part of a field"],
    ["/constructor/x", "1: constructor cannot be part of a field"],
    ["a[99999999999999999999]", "1: An index is too large"],
    ["a.".repeat(70) + "a", "0: A field goes more than 64 levels deep"],
  ])("%s", (text, expected) => {
    expect(steps(text)).toBe(expected);
  });
});

test("what a JSON Pointer says is what was put into it", () => {
  const key = fc.string().filter((text) => !["__proto__", "constructor", "prototype"].includes(text));
  fc.assert(
    fc.property(fc.array(key, { minLength: 1, maxLength: 5 }), (keys) => {
      const pointer = keys.map((each) => `/${each.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
      expect((steps(pointer) as unknown[]).map(String)).toEqual(keys);
    }),
  );
});

test("any text is a field or says where it is none", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z.[\]"'0/~$*]{0,20}$/)), (text) => {
      const found = parseField(text);
      if (isFlaw(found)) expect(found.at).toBeLessThanOrEqual(text.length);
      else expect(found.steps.length).toBeGreaterThan(0);
    }),
    { numRuns: runs(2000) },
  );
});
