import * as fc from "fast-check";
import { expect, test } from "vitest";
import { eachText, type TextPlace } from "../../src/message/each-text.ts";
import { jsonText } from "../fuzz/json-texts.ts";
import { readJson, type Tree } from "../fuzz/naive-json.ts";
import { createRandom } from "../fuzz/random.ts";
import { runs } from "../support/runs.ts";

/** All strings of a tree, in order. */
function texts(tree: Tree, depth: number): TextPlace[] {
  if (tree.kind === "string") return [{ start: tree.start, end: tree.end, isKey: false, depth }];
  return [
    tree.elements.flatMap((element) => texts(element, depth + 1)),
    tree.members.flatMap(({ key, start, value }) =>
      [
        [{ start, end: start, isKey: true, depth: depth + 1 }].filter(() => key !== SKIPPED || depth > 0),
        key === SKIPPED && depth === 0 ? [] : texts(value, depth + 1),
      ].flat(),
    ),
  ].flat();
}

const SKIPPED = "a";

test("every string of a value is visited once, in order, with its place", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const bytes = Buffer.from(`["before",${jsonText(createRandom(seed))},"after"]`);
      const { tree } = readJson(bytes);
      if (tree === null) return;
      const seen: TextPlace[] = [];
      eachText(bytes, tree.elements[1], (place) => {
        const text = JSON.parse(bytes.toString("utf8", place.start, place.end)) as string;
        if (place.isKey && place.depth === 1 && text === SKIPPED) return false;
        seen.push(place.isKey ? { ...place, end: place.start } : place);
        return true;
      });
      expect(seen).toEqual(texts(tree.elements[1], 0));
    }),
    { numRuns: runs(1000) },
  );
});
