import * as fc from "fast-check";
import { expect, test } from "vitest";
import { eachKey, eachMember, findMember, listElements, readString } from "../../src/message/members.ts";
import { jsonText, messageText } from "../fuzz/json-texts.ts";
import { readJson, type Tree } from "../fuzz/naive-json.ts";
import { createRandom } from "../fuzz/random.ts";
import { runs } from "../support/runs.ts";

function everyTree(tree: Tree): Tree[] {
  return [tree, ...tree.elements.flatMap(everyTree), ...tree.members.flatMap(({ value }) => everyTree(value))];
}

/** Calls back for each object and array of many valid texts. */
function forTrees(check: (bytes: Buffer, tree: Tree) => void): void {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createRandom(seed);
      const bytes = Buffer.from(random.chance(0.5) ? jsonText(random) : messageText(random));
      const { tree } = readJson(bytes);
      if (tree !== null) for (const one of everyTree(tree)) check(bytes, one);
    }),
    { numRuns: runs(1000) },
  );
}

function readJsonString(bytes: Buffer, start: number, end: number): unknown {
  return JSON.parse(`"${bytes.toString("utf8", start, end)}"`);
}

test("the members of an object are those JSON.parse finds, and their places are their text", () => {
  forTrees((bytes, tree) => {
    if (tree.kind !== "object") return;
    const found: unknown[] = [];
    eachMember(bytes, tree, (key, { start, end }, begins) => found.push({ key, start, end, begins }));
    const wanted = tree.members.map(({ key, start, value }) => ({
      key,
      start: value.start,
      end: value.end,
      begins: start,
    }));
    expect(found).toEqual(wanted);
    const keys: unknown[] = [];
    eachKey(bytes, tree, (from, to, start, end) => keys.push({ key: readJsonString(bytes, from, to), start, end }) > 0);
    expect(keys).toEqual(wanted.map(({ key, start, end }) => ({ key, start, end })));
    const parsed = JSON.parse(bytes.toString("utf8", tree.start, tree.end)) as Record<string, unknown>;
    for (const key of ["a", "id", "__proto__", "missing"]) {
      const span = findMember(bytes, tree, key);
      if (!Object.hasOwn(parsed, key)) expect(span).toBeNull();
      else if (span !== null) expect(JSON.parse(bytes.toString("utf8", span.start, span.end))).toEqual(parsed[key]);
      else throw new Error(`${key} was not found`);
    }
  });
});

test("the elements of an array are those JSON.parse finds, and their places are their text", () => {
  forTrees((bytes, tree) => {
    if (tree.kind !== "array") return;
    expect(listElements(bytes, tree)).toEqual(tree.elements.map(({ start, end }) => ({ start, end })));
  });
});

test("what is no object has no members, and what is no string is no text", () => {
  forTrees((bytes, tree) => {
    if (tree.kind !== "object") expect(findMember(bytes, tree, "a")).toBeNull();
    const text = bytes.toString("utf8", tree.start, tree.end);
    expect(readString(bytes, tree)).toBe(tree.kind === "string" ? JSON.parse(text) : null);
  });
  expect(readString(Buffer.from("x"), null)).toBeNull();
});

test("a scalar that ends with its buffer ends there", () => {
  const bytes = Buffer.from('{"a":[1,{"b":true}]}');
  expect(findMember(bytes, { start: 0, end: bytes.length }, "a")).toEqual({ start: 5, end: 19 });
  expect(listElements(Buffer.from("[1,2]"), { start: 0, end: 5 })).toEqual([
    { start: 1, end: 2 },
    { start: 3, end: 4 },
  ]);
});
