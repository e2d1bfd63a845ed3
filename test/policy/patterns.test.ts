import { expect, test } from "vitest";
import { createNameFilter, readName } from "../../src/policy/names/name-filter.ts";
import { matchNames, parsePattern, parsePatternList } from "../../src/policy/patterns.ts";
import { createToolFilter } from "../../src/policy/tool-filter.ts";

const failure = (list: string): string => {
  try {
    parsePatternList(list, "deny");
  } catch (error) {
    const { message, remedy } = error as { message: string; remedy: string };
    return `Error: ${message}\n${remedy}`;
  }
  return "no error";
};

test("a list is split at commas and trimmed", () => {
  expect(parsePatternList(" ^file_ , .*_write$,", "deny").map((pattern) => pattern.source)).toEqual([
    "^file_",
    ".*_write$",
  ]);
});

test("what does not compile and what is not safe fail with the contract's words", () => {
  expect(failure("^[a-z")).toBe(
    'Error: Invalid regex pattern in deny list: "^[a-z"\nPattern must be valid JavaScript regex',
  );
  expect(failure("(a+)+")).toBe(
    'Error: Unsafe regex pattern detected: "(a+)+"\nPattern could cause catastrophic backtracking',
  );
  expect(failure("a**")).toContain("Invalid regex pattern");
});

test("a pattern that was cut at its comma is said to have been", () => {
  for (const list of ["^x{1,3}$", "(a,b)", "[a,b]", "ok,x{2,}"]) expect(failure(list)).toContain("cut at a comma");
  expect(failure(String.raw`a\{,b\}`)).toBe("no error");
});

test("lookaround is allowed", () => {
  const [pattern] = parsePatternList("^(?!read)", "deny");
  expect(matchNames([pattern], ["read_x", "write_x"]).matches).toEqual([null, pattern]);
});

test("patterns are not anchored, and case counts", () => {
  const pattern = parsePattern("write", "deny");
  expect(matchNames([pattern], ["file_write_all", "Write", "wri te"]).matches).toEqual([pattern, null, null]);
});

test("(?i) at the beginning means that case does not count, as in the patterns of rules", () => {
  const pattern = parsePattern("(?i)^write_", "deny");
  expect(matchNames([pattern], ["WRITE_all", "write_x", "rewrite_x"]).matches).toEqual([pattern, pattern, null]);
  const filter = createToolFilter({ deny: [pattern], allow: [] });
  expect(filter.hiddenBy(["Write_File", "read"])).toEqual(["(?i)^write_", null]);
  const names = createNameFilter({ deny: [pattern], allow: [parsePattern("(?i)READ", "allow")], read: readName });
  expect(names.hiddenBy(["WRITE_x", "Read"])).toEqual(["(?i)^write_", null]);
  expect(failure("(?i)(a+)+")).toContain("Unsafe regex pattern");
});

test.each([
  [
    "(?s)a.b",
    "a flag such as (?s) is RE2 syntax, which works only in rules; here only (?i) at the very beginning works",
  ],
  ["a(?i)b", "a flag such as (?s) is RE2"],
  ["(?i:a)b", "a flag such as (?s) is RE2"],
  ["(?P<x>a)", "(?P<name>…) is RE2 syntax, which works only in rules; write (?<name>…)"],
  [String.raw`\Aread`, String.raw`\A is RE2 syntax, which works only in rules; write ^`],
  [String.raw`read\z`, String.raw`\z is RE2 syntax, which works only in rules; write $`],
  [String.raw`\Qa.b\E`, "put a backslash before each special character"],
  ["^[[:alpha:]]+$", "write [A-Za-z]"],
])("%s is what only the patterns of rules know, and is said to be", (source, words) => {
  expect(failure(source)).toContain(`Pattern must be valid JavaScript regex: `);
  expect(failure(source)).toContain(words);
});

test("what JavaScript knows is not taken for the other dialect", () => {
  for (const source of [String.raw`a\\A`, "(?:a)", "(?<x>a)", "[[:]", String.raw`\Da`, "(?!a)"])
    expect(failure(source), source).toBe("no error");
});

test("the first pattern that matches is named, and all that match count as used", () => {
  const one = parsePattern("a", "deny");
  const two = parsePattern("b", "deny");
  const three = parsePattern("c", "deny");
  const { matches, matched } = matchNames([one, two, three], ["ab", "b"]);
  expect(matches).toEqual([one, two]);
  expect(matched).toEqual(new Set([one, two]));
});

test("many long names are not taken for a pattern that does not end", () => {
  const pattern = parsePattern(".*_write$", "deny");
  const names = Array.from({ length: 5000 }, (_, index) => `${index}${"_writ".repeat(203)}`);
  const { matches, reached, hung } = matchNames([pattern], [...names, "x_write"]);
  expect(hung).toBeNull();
  expect(reached).toBeGreaterThan(0);
  expect(reached).toBeLessThan(5000);
  expect(matches[5000]).toBeNull();
});

test("a pattern that does not end on a server's name is stopped and named", () => {
  // safe-regex2 lets this one by.
  const pattern = parsePattern("^(a|aa)+$", "deny");
  const { hung } = matchNames([parsePattern("x", "deny"), pattern], [`${"a".repeat(60)}b`]);
  expect(hung).toBe(pattern);
});
