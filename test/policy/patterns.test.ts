import { expect, test } from "vitest";
import { matchNames, parsePattern, parsePatternList } from "../../src/policy/patterns.ts";

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
