import * as fc from "fast-check";
import { expect, test } from "vitest";
import { hasLiteral, readLiteral } from "../../src/rules/literals.ts";
import { isPattern, loadPatterns } from "../../src/rules/patterns.ts";
import { runs } from "../support/runs.ts";

test.each(["^/secret/", "\\.pem$", "^tools/call$", "a-b", "", "^", "$", "^$", "x\\\\y", "\\^a\\$"])(
  "%j is nothing but text",
  (source) => {
    expect(readLiteral(source)).not.toBeNull();
  },
);

test.each(["a.b", "a*", "(a)", "a|b", "[ab]", "\\d", "a{2}", "^^a", "a$b", "(?i)a", "\\", "é", "\\u0041"])(
  "%j is more than text",
  (source) => {
    expect(readLiteral(source)).toBeNull();
  },
);

test("a text is found where the pattern finds it", async () => {
  const compile = await loadPatterns();
  const piece = fc.constantFrom("a", "b", "/", "\\.", "\\\\", "\\$", "-", " ");
  const source = fc
    .tuple(fc.constantFrom("", "^"), fc.array(piece, { maxLength: 3 }), fc.constantFrom("", "$"))
    .map(([begins, body, ends]) => begins + body.join("") + ends);
  fc.assert(
    fc.property(source, fc.stringMatching(/^[ab/.\\$\n -]{0,6}$/), (text, subject) => {
      const made = compile(text);
      if (!isPattern(made)) throw new Error(made.problem);
      const literal = readLiteral(text);
      expect(literal !== null && hasLiteral(literal, subject)).toBe(made.test(subject));
    }),
    { numRuns: runs(2000) },
  );
});
