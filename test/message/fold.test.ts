import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fold } from "../../src/message/fold.ts";
import { foldNaively } from "../fuzz/profile.ts";
import { runs } from "../support/runs.ts";

describe("a careless peer takes these for denied_tool", () => {
  test.each([
    ["another case", "Denied_Tool"],
    ["capitals", "DENIED_TOOL"],
    ["full width", "ｄｅｎｉｅｄ＿ｔｏｏｌ"],
    ["mathematical letters", "𝐝𝐞𝐧𝐢𝐞𝐝_tool"],
    ["circled letters", "ⓓenied_tool"],
    ["a space before", " denied_tool"],
    ["a space behind", "denied_tool "],
    ["a tab", "denied_tool\t"],
    ["a newline", "denied_tool\n"],
    ["a no-break space", "denied_tool\u00a0"],
    ["an ideographic space", "denied\u3000_tool"],
    ["a NUL", "denied_tool\0"],
    ["a DEL", "denied_tool\u007f"],
    ["a zero-width space", "denied\u200b_tool"],
    ["a zero-width joiner", "denied\u200d_tool"],
    ["a word joiner", "denied\u2060_tool"],
    ["a soft hyphen", "denied\u00ad_tool"],
    ["a byte order mark", "\ufeffdenied_tool"],
    ["a right-to-left override", "\u202edenied_tool"],
    ["an isolate", "\u2066denied_tool\u2069"],
    ["tag characters", "denied_tool\u{e0041}"],
    ["a variation selector", "denied\ufe0f_tool"],
    ["a supplementary variation selector", "denied\u{e0100}_tool"],
    ["a grapheme joiner", "denied\u034f_tool"],
    ["a Hangul filler", "denied\u3164_tool"],
    ["a line separator", "denied\u2028_tool"],
    ["an escape character", "denied\u001b_tool"],
    ["an interlinear annotation", "denied\ufff9_tool"],
  ])("%s", (_what, name) => {
    expect(fold(name)).toBe("denied_tool");
  });
});

test.each([
  ["the long s", "paramſ", "params"],
  ["the Kelvin sign", "bK", "bk"],
  ["a ligature", "ﬁle", "file"],
  ["a Roman numeral", "ⅷ", "viii"],
  ["composed and decomposed", "cafe\u0301", "café"],
  ["the sharp s in capitals", "STRAẞE", "straße"],
  ["the two forms of a lower-case sigma", "ΟΔΟΣ", "οδοσ"],
  ["a mark behind something unseen", "cafe\u034f\u0301", "café"],
])("%s is folded as well", (_what, name, folded) => {
  expect(fold(name)).toBe(fold(folded));
});

test.each([
  "denied-tool",
  "denied.tool",
  "denied_tool_2",
  "denied_too1",
  "dеnied_tool",
  "denied%5Ftool",
  "./denied_tool",
])("%s is another name", (name) => expect(fold(name)).not.toBe("denied_tool"));

test("what is folded stays folded", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (name) => {
      expect(fold(fold(name))).toBe(fold(name));
    }),
    { numRuns: runs(2000) },
  );
});

test("folding agrees with a plain way to do it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (name) => {
      expect(fold(name)).toBe(foldNaively(name));
    }),
    { numRuns: runs(2000) },
  );
});
