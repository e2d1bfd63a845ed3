import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compileFilter } from "../../src/filter/compile.ts";
import { topLevel } from "../../src/filter/filter.ts";
import { hasNoCase } from "../../src/filter/letters.ts";
import { countWithout, selectRows } from "../../src/filter/select.ts";
import { someNode } from "./filters.ts";
import { judge } from "./model.ts";
import { NOW, someRow } from "./rows.ts";
import { filterOf, patterns, type Row, viewRow } from "./support.ts";
import { runs } from "../support/runs.ts";

const rows: Row[] = [
  { tool: "read", verdict: "pass", args: { path: "/a" } },
  { tool: "read", verdict: "deny", args: undefined },
  { tool: "write", verdict: "deny", args: { path: "/b" } },
  { tool: "write", verdict: "pass", args: undefined },
];

test("the rows that fit are picked, and those that cannot be judged are counted", () => {
  const compiled = compileFilter(filterOf("tool:read arg.path:/a"), { now: NOW });
  expect(selectRows(compiled, rows, viewRow)).toEqual({ rows: [rows[0]], unjudged: 1 });
});

test("where nothing fits, it is said what would fit without each part", () => {
  const filter = filterOf("tool:read verdict:deny (arg.path:/b or arg.path:/c)");
  const { fitting, unjudged, without } = countWithout(filter, rows, viewRow, { now: NOW });
  expect(fitting).toBe(0);
  expect(unjudged).toBe(1);
  expect(without.map(({ part, fitting: count }) => [filter.text.slice(part.start, part.end), count])).toEqual([
    ["tool:read", 1],
    ["verdict:deny", 0],
    ["(arg.path:/b or arg.path:/c)", 1],
  ]);
});

test("what would fit without a part is what fits the others", () => {
  fc.assert(
    fc.property(
      fc.array(someNode, { minLength: 1, maxLength: 3 }),
      fc.array(someRow, { maxLength: 5 }),
      (nodes, some) => {
        const filter = { text: "", root: { kind: "all" as const, of: nodes, start: 0, end: 0 } };
        const counts = countWithout(filter, some, viewRow, { now: NOW, patterns });
        const fits = (of: typeof nodes, wanted: boolean | undefined): number =>
          some.filter((row) => judge({ kind: "all", of, start: 0, end: 0 }, viewRow(row), NOW) === wanted).length;
        expect(counts.rows).toBe(some.length);
        expect(counts.fitting).toBe(fits(nodes, true));
        expect(counts.unjudged).toBe(fits(nodes, undefined));
        expect(counts.without.map(({ fitting }) => fitting)).toEqual(
          topLevel(filter).map((part) =>
            fits(
              nodes.filter((node) => node !== part),
              true,
            ),
          ),
        );
      },
    ),
    { numRuns: runs(300) },
  );
});

test("characters that are found as they are have no other case", () => {
  const byFold = new Map<string, string[]>();
  for (let code = 0; code < 0x10000; code++) {
    const character = String.fromCharCode(code);
    const upper = character.toUpperCase();
    const folded = upper.length !== 1 || (code > 0x7f && upper <= "\x7f") ? character : upper;
    byFold.set(folded, [...(byFold.get(folded) ?? []), character]);
  }
  const wrong = [...byFold.values()].filter((same) => same.length > 1 && same.some(hasNoCase));
  expect(wrong).toEqual([]);
});
