import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { format } from "node:util";
import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/proxy/limits.ts";
import { limitsPage } from "./page.ts";
import { CACHES, INPUT, KEPT, PLACES, SETTINGS, SHOWN, WAYS, WORK } from "./table.ts";

const root = resolve(import.meta.dirname, "../..");
const source = join(root, "src");

/** Those that a test can go past. A cache that is full is only slower. */
const BOUNDS = [...INPUT, ...KEPT, ...PLACES, ...WORK];

/** Every constant of the sources whose name says that it is a bound: its place, and what it is. */
function findConstants(): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts")) continue;
    const text = readFileSync(join(source, name), "utf8");
    const file = relative(source, join(source, name)).split(sep).join("/");
    for (const [, constant, expression] of text.matchAll(CONSTANT)) found.set(`${file} ${constant}`, expression);
  }
  return found;
}

const CONSTANT = /^\s*(?:export )?const ((?:DEFAULT_)?MAX_[A-Z0-9_]+)(?:: [^=]+)? =\s*([^;]+);/gm;

const constants = findConstants();

/** The value of a constant that is written with numbers, or with constants of other files. */
function valueOf(expression: string): number {
  const spelled = expression.replaceAll(/MAX_[A-Z_]+/g, (name) => {
    const [, other] = [...constants].find(([place]) => place.endsWith(` ${name}`)) ?? [];
    return other === undefined ? "NaN" : String(valueOf(other));
  });
  if (!/^[\d_\s*+()-]+$/.test(spelled)) return NaN;
  return Number(runInThisContext(spelled));
}

describe("the table of everything that can grow", () => {
  test("has every constant of the sources that bounds something, with its value", () => {
    const known = new Map(
      [...BOUNDS, ...CACHES, ...SHOWN, ...WAYS].map(({ file, name, value }) => [`${file} ${name}`, value]),
    );
    const missing = [...constants]
      .filter(([place]) => !known.has(place))
      .map(([place, expression]) => {
        const [file, name] = place.split(" ");
        return format(
          'add to a list of test/bounds/table-*.ts: bound("%s", "%s", %s, "what it bounds", "what happens past it", [test, title]),',
          file,
          name,
          expression,
        );
      });
    expect(missing).toEqual([]);
    const wrong = [...constants].filter(([place, expression]) => known.get(place) !== valueOf(expression));
    expect(
      wrong.map(([place, expression]) => `${place} is ${expression}, and the table says ${known.get(place)}`),
    ).toEqual([]);
    expect([...known.keys()].filter((place) => !constants.has(place))).toEqual([]);
  });

  test("has every limit that can be set, with its default", () => {
    expect(Object.fromEntries(SETTINGS.map(({ key, value }) => [key, value]))).toEqual(DEFAULT_LIMITS);
    const schema = JSON.parse(readFileSync(join(root, "schema", "fairlead.schema.json"), "utf8")) as {
      properties: { limits: { properties: object } };
    };
    expect(SETTINGS.map(({ setting }) => setting).toSorted()).toEqual(
      Object.keys(schema.properties.limits.properties).toSorted(),
    );
  });

  test("names tests that are there", () => {
    const lost = [...SETTINGS, ...BOUNDS].flatMap(({ what, tested }) => {
      if (tested === null) return [];
      const file = join(root, "test", tested[0]);
      return existsSync(file) && readFileSync(file, "utf8").includes(tested[1])
        ? []
        : [`${what}: ${tested.join(", ")}`];
    });
    expect(lost).toEqual([]);
  });

  test("has fewer and fewer bounds without a test that goes past them", () => {
    const untested = [...SETTINGS, ...BOUNDS].filter(({ tested }) => tested === null);
    expect(untested.length, "a new bound comes with a test").toBeLessThanOrEqual(MOST_UNTESTED);
  });

  test("has no bound twice", () => {
    const places = [...BOUNDS, ...CACHES, ...SHOWN, ...WAYS].map(({ file, name }) => `${file} ${name}`);
    expect(places.filter((place, nth) => places.indexOf(place) !== nth)).toEqual([]);
  });

  test("is what docs/limits.md says", () => {
    const page = readFileSync(join(root, "docs", "limits.md"), "utf8");
    expect(bare(page), "npm run test:bounds -- --write").toBe(bare(limitsPage()));
  });
});

/** A page without what the formatter does to tables. */
function bare(text: string): string {
  return text.replaceAll(/ *\| */g, "|").replaceAll(/-{3,}/g, "---");
}

/** Bounds that no test goes past yet. It only gets smaller. */
const MOST_UNTESTED = 33;
