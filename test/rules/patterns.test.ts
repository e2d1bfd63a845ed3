import * as fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import {
  type CompilePattern,
  isPattern,
  loadPatterns,
  MAX_MATCHED_CHARACTERS,
  MAX_MATCH_WORK,
} from "../../src/rules/patterns.ts";
import type { RulePattern } from "../../src/rules/rule.ts";
import { Unjudgeable } from "../../src/rules/unjudgeable.ts";
import { MAX_WORK_PER_MESSAGE, type Work } from "../../src/rules/work.ts";
import { runs } from "../support/runs.ts";

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
    { numRuns: runs(500) },
  );
});

function places(source: string, text: string): string[] {
  return (pattern(source).findAll?.(text) ?? []).map(({ start, end }) => text.slice(start, end));
}

test("all places where a pattern matches are found, in the units of our texts", () => {
  expect(places("ACME-[0-9]+", "😀 ACME-1 é ACME-22")).toEqual(["ACME-1", "ACME-22"]);
  expect(places("x*", "axb")).toEqual(["x"]);
  expect(places("none", "axb")).toEqual([]);
});

test("a search for all places ends, always at the same step, and says so where it does not come to the end", () => {
  const spent = [1, 2].map(() => {
    // Not much is left.
    const work: Work = { steps: MAX_WORK_PER_MESSAGE - 2_000_000 };
    expect(() => pattern("a(?s:.*)b|a").findAll?.("a".repeat(100_000), work)).toThrow(Unjudgeable);
    return work.steps;
  });
  expect(spent[0]).toBe(spent[1]);
});

describe("in a long text", () => {
  const FILL = "lorem ipsum dolor sit amet, consectetur 12 34 adipiscing elit. ";
  const long = FILL.repeat(2500); // ten pieces

  /** The text with something else in it, at some places. */
  function plant(what: string, ...at: number[]): string {
    return at
      .toSorted((one, other) => other - one)
      .reduce((text, nth) => text.slice(0, nth) + what + text.slice(nth), long);
  }

  test.each([
    ["ACME-[0-9]+", "ACME-4711"],
    ["(?i)project falcon", "Project FALCON"],
    ["\\b[A-Z]{2}[0-9]{6}\\b", " AB123456 "],
    ["[\\w.]+@[\\w.]+", " someone@example.com "],
    ["(?s)BEGIN.*?END", "BEGIN\n1\nEND"],
    ["x{3}", "xxx"],
  ])("%s is found wherever it stands, also across the edges of pieces", (source, secret) => {
    const edges = [1, 2, 5].flatMap((nth) => [-20, -5, -1, 0, 1, 5].map((by) => nth * 16_384 + by));
    for (const edge of [0, ...edges, long.length]) {
      const text = plant(secret, edge);
      const found = places(source, text);
      expect(found.join(), `${source} at ${edge}`).toContain(secret.trim());
    }
    const many = plant(secret, ...edges);
    expect(places(source, many).filter((one) => one === secret.trim())).toHaveLength(edges.length);
  });

  test.each([
    ["(?s)BEGIN.*?END", `BEGIN${"x".repeat(40_000)}END`],
    ["key=[a-z]+", `key=${"a".repeat(40_000)}`],
    ["q+", "q".repeat(50_000)],
  ])("%s is found although it is longer than a piece", (source, secret) => {
    const text = `${long}${secret} ${long}`;
    expect(places(source, text)).toEqual([secret]);
  });

  test("what is found is what is found without pieces", () => {
    const letters = fc.constantFrom("a", "b", " ", "1", "\n");
    const parts = fc.array(fc.tuple(fc.integer({ min: 0, max: 9000 }), fc.string({ unit: letters, maxLength: 40 })));
    fc.assert(
      fc.property(parts, fc.constantFrom("ab+a", "a[^b]*b", "1\\b", "a|b1", "[ab]{2,4}1?"), (some, source) => {
        const text = some.map(([length, piece]) => "-".repeat(length) + piece).join("") + "-".repeat(20_000);
        expect(places(source, text)).toEqual(text.match(new RegExp(source, "g")) ?? []);
      }),
      { numRuns: runs(60) },
    );
  });

  test("some megabytes are looked through", () => {
    const text = `${long.repeat(20)}ACME-1`;
    const work: Work = { steps: 0 };
    expect(pattern("ACME-[0-9]+").findAll?.(text, work)).toHaveLength(1);
    expect(work.steps).toBeLessThan(3 * text.length);
  });
});
