import * as fc from "fast-check";
import { RE2JS } from "re2js";
import { describe, expect, test } from "vitest";
import { isFlaw } from "../../src/config/mistake.ts";
import { parseRulePattern } from "../../src/config/patterns.ts";
import { isPattern, loadPatterns } from "../../src/rules/patterns.ts";
import { isPlainPattern } from "../../src/rules/plain-pattern.ts";
import { runs } from "../support/runs.ts";

const compile = await loadPatterns();

describe("a pattern is searched for, not anchored, in RE2's syntax", () => {
  test.each([
    ["b+", "abbb", true],
    ["^b", "abbb", false],
    ["(?i)secret", "a SECRET", true],
    ["\\u0041{2}", "AA", true],
    ["\\Qa/b\\E", "a/b", true],
    ["[[:alpha:]]{2}", "a1", false],
    ["^/home/.*\\.(key|pem)$", "/home/me/x.pem", true],
    ["(?:a|b)c?", "xb", true],
  ])("%s on %s", (source, subject, expected) => {
    const pattern = parseRulePattern(source, compile);
    expect(!isFlaw(pattern) && pattern.test(subject)).toBe(expected);
  });
});

test("what is put off says how large it is, and finds all places", () => {
  const pattern = compile("ab+");
  expect(isPattern(pattern) && [pattern.size > 0, pattern.findAll("xabbab")]).toEqual([
    true,
    [
      { start: 1, end: 4 },
      { start: 4, end: 6 },
    ],
  ]);
});

test("what is put off until it is used always compiles, and matches as JavaScript does", () => {
  const piece = fc.constantFrom(
    ..."abz09_ /:@,;=%#~!&'\"<>-.*+?|^$()[]{}\\".split(""),
    ..."\\d \\w \\s \\b \\. \\\\ \\( \\) [a-z] [^0-9_] [A-Z.] (?: ( ) .* .+ (a|b) \\z \\1 (?= [ ] {2}".split(" "),
  );
  let plain = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), fc.string({ maxLength: 10 }), (pieces, subject) => {
      const source = pieces.join("");
      if (!isPlainPattern(source)) return;
      plain++;
      const ascii = subject.replaceAll(/[^\x20-\x7e]/g, "");
      expect(RE2JS.compile(source).test(ascii)).toBe(new RegExp(source).test(ascii));
    }),
    { numRuns: runs(5000) },
  );
  expect(plain).toBeGreaterThan(100);
});
