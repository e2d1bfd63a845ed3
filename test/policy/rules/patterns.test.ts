import * as fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import {
  type CompilePattern,
  isPattern,
  loadPatterns,
  MAX_MATCHED_CHARACTERS,
  MAX_MATCH_WORK,
} from "../../../src/policy/rules/patterns.ts";
import type { RulePattern } from "../../../src/policy/rules/rule.ts";
import { Unjudgeable } from "../../../src/policy/rules/unjudgeable.ts";

let compile: CompilePattern;
beforeAll(async () => {
  compile = await loadPatterns();
});

function pattern(source: string): RulePattern {
  const made = compile(source);
  if (!isPattern(made)) throw new Error(made.problem);
  return made;
}

test.each([
  ["^file_", "file_read", true],
  ["^file_", "my_file_read", false],
  ["(?i)DROP table", "drop TABLE", true],
  ["\\u0041[\\u{42}]", "AB", true],
  ["\\\\u0041", "\\u0041", true],
  ["[()?=!]{2}", "(?", true],
  ["a|b", "xbx", true],
])("%s on %s: %s", (source, text, isMatch) => {
  expect(pattern(source).test(text)).toBe(isMatch);
});

test.each([
  ["(?=a)", "lookahead"],
  ["a(?!b)", "lookahead"],
  ["(?<=a)b", "lookbehind"],
  ["(?<!a)b", "lookbehind"],
  ["(a)\\1", "backreference"],
  ["(?<n>a)\\k<n>", "backreference"],
  ["(?P<n>a)(?P=n)", "backreference"],
  ["(?>a)", "atomic group"],
  ["[a", "missing closing ]"],
  ["a**", "nested repetition"],
  ["a\\Z", "invalid escape"],
  ["(?:\\w{1000}x\\w{1000}y\\w{100})", "too large"],
])("%s is refused: %s", (source, problem) => {
  expect(compile(source)).toMatchObject({ problem: expect.stringContaining(problem) });
});

test("a pattern is compiled once", () => {
  expect(compile("same.*")).toBe(compile("same.*"));
});

test("a text that is too long for a pattern is not searched in vain", () => {
  expect(pattern("b$").test(`${"a".repeat(MAX_MATCHED_CHARACTERS - 1)}b`)).toBe(true);
  expect(() => pattern("b$").test("a".repeat(MAX_MATCHED_CHARACTERS + 1))).toThrow(Unjudgeable);
  const large = pattern("\\p{L}{1,500}\\d");
  expect(() => large.test("é".repeat(MAX_MATCH_WORK / 500))).toThrow(Unjudgeable);
});

test("patterns that make others hang do not", () => {
  for (const [source, text] of [
    ["(a+)+$", "a"],
    ["(a|aa)+$", "a"],
    ["([a-z]+)*=", "x"],
    ["\\p{L}{1,500}\\d", "é"],
  ]) {
    const made = pattern(source);
    const length = Math.min(30_000, Math.floor(MAX_MATCH_WORK / ((made as { size?: number }).size ?? 1)));
    const began = performance.now();
    made.test(`${text.repeat(length - 1)}!`);
    expect(performance.now() - began).toBeLessThan(2000);
  }
});

test("what both engines know they match alike", () => {
  const piece = fc.constantFrom("a", "b", ".", "a*", "(b|c)", "[ab]+", "^", "$", "\\d", "c?", "\\.");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 5 }), fc.stringMatching(/^[abc1.]{0,8}$/), (pieces, text) => {
      const source = pieces.join("");
      expect(pattern(source).test(text)).toBe(new RegExp(source).test(text));
    }),
    { numRuns: 500 },
  );
});

function places(source: string, text: string): string[] {
  return (pattern(source).findAll?.(text) ?? []).map(({ start, end }) => text.slice(start, end));
}

test("all places where a pattern matches are found, in the units of our texts", () => {
  expect(places("ACME-[0-9]+", "😀 ACME-1 é ACME-22")).toEqual(["ACME-1", "ACME-22"]);
  expect(places("x*", "axb")).toEqual(["", "x", "", ""]);
  expect(places("none", "axb")).toEqual([]);
});

test("a search for all places ends, and says so where it does not come to the end", () => {
  const began = performance.now();
  expect(() => pattern("a(?s:.*)b|a").findAll?.("a".repeat(100_000))).toThrow(Unjudgeable);
  expect(performance.now() - began).toBeLessThan(5000);
});
