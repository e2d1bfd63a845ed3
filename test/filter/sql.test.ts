import * as fc from "fast-check";
import { Database } from "node-sqlite3-wasm";
import { afterAll, describe, expect, test } from "vitest";
import { compileFilter } from "../../src/filter/compile.ts";
import { FIELDS } from "../../src/filter/fields.ts";
import { type FindColumn, toSql } from "../../src/filter/sql.ts";
import { someNode } from "./filters.ts";
import { NOW, someRow } from "./rows.ts";
import { filterOf, patterns, type Row, viewRow } from "./support.ts";
import { runs } from "../support/runs.ts";

const FIELD_COLUMNS = [
  "shown",
  ...FIELDS.filter(({ name }) => !["arg", "result", "text", "is"].includes(name)).map(({ name }) => name),
];
const STATES = FIELDS.find(({ name }) => name === "is")?.words.map(({ name }) => name) ?? [];

// Every value in a column, and beside it whether it is known.
const columns = [...FIELD_COLUMNS, ...STATES.map((state) => `is:${state}`)];
const database = new Database(":memory:");
database.exec(`CREATE TABLE rows (${columns.map((name) => `"${name}", "known ${name}"`).join(", ")})`);
afterAll(() => database.close());

/** Where the values of a row are. Fields that are left out have no column. */
function findColumn(missing: ReadonlySet<string>): FindColumn {
  return (name) => {
    if (missing.has(name) || !columns.includes(name)) return null;
    return { sql: `"${name}"`, known: `"known ${name}"` };
  };
}

/** A text as SQLite keeps it. */
function keep(value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed().replaceAll("\0", "") : value;
}

function store(rows: readonly Row[]): void {
  database.exec("DELETE FROM rows");
  const statement = database.prepare(`INSERT INTO rows VALUES (${columns.map(() => "?, ?").join(", ")})`);
  for (const row of rows) {
    const values = columns.flatMap((name) => {
      const state = name.startsWith("is:") ? name.slice(3) : null;
      const value = state === null ? row[name] : viewRow(row).is(state);
      return value === undefined ? [null, 0] : [typeof value === "boolean" ? Number(value) : value, 1];
    });
    statement.run(values as never);
  }
  statement.finalize();
}

function ask(expression: string, parameters: readonly (string | number)[]): unknown[] {
  return database
    .all(`SELECT (${expression}) AS answer FROM rows ORDER BY rowid`, parameters as never)
    .map(({ answer }) => answer);
}

const storedRow = someRow.map((row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, keep(value)])),
);

test("SQLite and the rest together say what the filter says", () => {
  const outcomes = { whole: 0, partly: 0, notAtAll: 0 };
  fc.assert(
    fc.property(
      someNode,
      fc.array(storedRow, { minLength: 8, maxLength: 8 }),
      fc.subarray(columns, { maxLength: 12 }),
      (root, rows, missing) => {
        const filter = { text: "", root };
        const column = findColumn(new Set(missing));
        const { where, parameters, rest } = toSql(filter, column, { now: NOW });
        outcomes[rest === null ? "whole" : where === "1" ? "notAtAll" : "partly"]++;
        store(rows);
        const answers = ask(where, parameters);
        const compiled = compileFilter(filter, { now: NOW, patterns });
        const left = rest === null ? null : compileFilter(rest, { now: NOW, patterns });
        for (const [nth, row] of rows.entries()) {
          const fits = compiled.test(viewRow(row));
          const found = answers[nth] === 1;
          expect(found && (left?.test(viewRow(row)) ?? true), where).toBe(fits);
        }
      },
    ),
    { numRuns: runs(600) },
  );
  for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(runs(20));
});

test("an exact expression is 1, 0 or NULL where the filter says yes, no or unknown", () => {
  let unknown = 0;
  fc.assert(
    fc.property(someNode, fc.array(storedRow, { minLength: 8, maxLength: 8 }), (root, rows) => {
      const { where, parameters, rest } = toSql({ text: "", root }, findColumn(new Set()), { now: NOW, exact: true });
      if (rest !== null) return;
      store(rows);
      const { judge } = compileFilter({ text: "", root }, { now: NOW });
      const wanted = rows.map((row) => {
        const fits = judge(viewRow(row));
        return fits === undefined ? null : Number(fits);
      });
      unknown += wanted.filter((answer) => answer === null).length;
      expect(ask(where, parameters), where).toEqual(wanted);
    }),
    { numRuns: runs(600) },
  );
  expect(unknown).toBeGreaterThan(runs(100));
});

const FEW: ReadonlySet<string> = new Set(["tool", "verdict", "latency", "rule", "is:refused"]);
const few: FindColumn = (name) => (FEW.has(name) ? name.replace(":", "_") : null);

describe("a filter becomes", () => {
  test.each<[string, string, unknown[], string | null]>([
    ["", "1", [], null],
    ["tool=a", "((tool) = ?)", ["a"], null],
    ["tool=a,b", "((tool) IN (?, ?))", ["a", "b"], null],
    ["tool:A%", "(instr(lower((tool)), ?) > 0)", ["a%"], null],
    ["tool:É", "1", [], "tool:É"],
    ["tool:猫", "(instr((tool), ?) > 0)", ["猫"], null],
    ["-tool:a", "NOT coalesce((instr(lower((tool)), ?) > 0), 0)", ["a"], null],
    ["verdict:deny latency>5ms", "(((verdict) = ?) AND ((latency) > ?))", ["deny", 5], null],
    ["is:refused", "(is_refused)", [], null],
    ["tool=a arg.path:x", "((tool) = ?)", ["a"], "arg.path:x"],
    ["tool=a or arg.path:x", "1", [], "tool=a or arg.path:x"],
    ["(tool=a arg.path:x) or rule=r", "(((tool) = ?) OR ((rule) = ?))", ["a", "r"], "tool=a arg.path:x or rule=r"],
    ["-(tool=a or arg.path:x)", "NOT coalesce(((tool) = ?), 0)", ["a"], "-(tool=a or arg.path:x)"],
    ["tool~/a/", "1", [], "tool~/a/"],
    ["tool:*", "((tool) IS NOT NULL)", [], null],
  ])("%s", (text, where, parameters, rest) => {
    const made = toSql(filterOf(text), few, { now: NOW });
    expect(made).toEqual({ where, parameters, rest: made.rest });
    expect(made.rest?.text ?? null).toBe(rest);
  });
});

test("nothing that was typed gets into the SQL", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const root = filterOf("tool:x").root as never as { values: string[] };
      const filter = { text: "", root: { ...root, values: [`q${text}'); DROP TABLE rows--`] } as never };
      const { where } = toSql(filter, () => "tool", { now: NOW });
      expect(["1", "(instr(lower((tool)), ?) > 0)"]).toContain(where);
    }),
  );
});

test("the longest filter is not too deep for SQLite", () => {
  const column = findColumn(new Set());
  for (const text of ["tool:a ".repeat(256), `tool:${"a,".repeat(255)}a`, "tool:a or ".repeat(255) + "tool:b"]) {
    const { where, parameters } = toSql(filterOf(text), column, { now: NOW, exact: true });
    expect(() => ask(where, parameters)).not.toThrow();
  }
});

test("an index on a column is used", () => {
  database.exec('CREATE INDEX IF NOT EXISTS by_tool ON rows ("tool")');
  const { where, parameters } = toSql(filterOf("tool=a,b -verdict:pass"), (name) => `"${name}"`, { now: NOW });
  const plan = database.all(`EXPLAIN QUERY PLAN SELECT * FROM rows WHERE ${where}`, parameters as never);
  expect(JSON.stringify(plan)).toContain("USING INDEX by_tool");
});
