import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FIELDS } from "../../src/filter/fields.ts";
import { parseFilter } from "../../src/filter/parse.ts";
import { printFilter, printNode } from "../../src/filter/print.ts";
import { someNode } from "./filters.ts";
import { patterns, plain } from "./support.ts";
import { runs } from "../support/runs.ts";

test("what is printed is read as the same filter", () => {
  fc.assert(
    fc.property(someNode, (root) => {
      const text = printNode(root);
      const { filter, mistakes } = parseFilter(text, { patterns });
      expect(mistakes, text).toEqual([]);
      expect(plain(filter?.root as never)).toEqual(plain(root));
    }),
    { numRuns: runs(2000) },
  );
});

test("what is read and printed is printed so again", () => {
  const words = "tool arg.path is latency time zz 5ms -10m 12:04 deny open or and not a é /a/ [0]".split(" ");
  const marks = [":", "=", "!=", ">", "~", "..", "-", "(", ")", '"', "\\", ",", "*", " ", " ", " ", "!", "|", '["b"]'];
  const piece = fc.constantFrom(...words, ...marks);
  let good = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const { filter } = parseFilter(pieces.join(""), { patterns });
      if (filter === null) return;
      good++;
      const printed = printFilter(filter);
      const again = parseFilter(printed, { patterns });
      expect(again.mistakes, printed).toEqual([]);
      expect(printFilter(again.filter as never)).toBe(printed);
      expect(plain(again.filter?.root as never)).toEqual(plain(filter.root));
    }),
    { numRuns: runs(5000) },
  );
  expect(good).toBeGreaterThan(200);
});

test("no text makes reading throw, and every place is in the text", () => {
  const names = FIELDS.map(({ name }) => name);
  const piece = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.constantFrom(...names, ":", ">", "~/", '"', "(", "-", "\ud800", "..", ","),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join("");
      const { filter, mistakes, tokens } = parseFilter(text, { patterns });
      expect(filter === null).toBe(mistakes.length > 0);
      for (const { start, end, fix, message } of mistakes) {
        expect(start).toBeGreaterThanOrEqual(0);
        expect(end).toBeLessThanOrEqual(text.length + 1);
        expect(start).toBeLessThanOrEqual(end);
        if (fix !== null) expect(fix.end >= fix.start && fix.start >= 0 && fix.end <= text.length).toBe(true);
        if (fix?.label) expect(fix.label.end).toBeLessThanOrEqual(message.length);
      }
      let last = 0;
      for (const { start, end } of tokens) {
        expect(start).toBeGreaterThanOrEqual(last);
        expect(end).toBeGreaterThan(start);
        last = end;
      }
      expect(last).toBeLessThanOrEqual(text.length);
    }),
    { numRuns: runs(3000) },
  );
});

test("hostile texts of the greatest length are read at once", () => {
  const units = [
    'tool:"',
    "(",
    ")",
    "a or ",
    "-",
    '"',
    "\\",
    "~/",
    "~/a",
    "arg[",
    'arg["',
    "arg.",
    "arg.a",
    ",",
    "tool:,",
    "*",
    "tool:(",
    "zz:",
  ];
  const hostile = [
    ...units,
    "latency>",
    "..",
    "or ",
    "!",
    "not ",
    "arg./a/",
    "tool:a(",
    "arg['",
    "a[",
    'a["a',
    "latency:1.",
    "time:-",
    "a ~ ",
  ];
  let worst = 0;
  for (const unit of hostile) {
    for (const text of [unit.repeat(4096 / unit.length), `tool:"${unit.repeat(4000 / unit.length)}`]) {
      const before = performance.now();
      parseFilter(text, { patterns });
      worst = Math.max(worst, performance.now() - before);
    }
  }
  console.log(`filter: the slowest of ${2 * hostile.length} hostile texts took ${worst.toFixed(1)} ms`);
  expect(worst).toBeLessThan(500);
});
