import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutElements, splice } from "../../src/message/edit.ts";
import { listElements } from "../../src/message/members.ts";
import { whole } from "../../src/message/message.ts";
import { jsonText } from "../fuzz/json-texts.ts";
import { readJson } from "../fuzz/naive-json.ts";
import { createRandom } from "../fuzz/random.ts";
import { runs } from "../support/runs.ts";

/** The array without these of its elements. */
function without(text: string, ...cut: number[]): string {
  const bytes = Buffer.from(text);
  const elements = listElements(bytes, { start: bytes.indexOf("["), end: bytes.length });
  return splice(
    whole(bytes),
    cutElements(elements, (index) => cut.includes(index)),
  ).toString("utf8");
}

describe("with an element goes one comma", () => {
  test.each([
    ["[1]", [0], "[]"],
    ["[ 1 ]", [0], "[  ]"],
    ["[1,2,3]", [0], "[2,3]"],
    ["[1,2,3]", [1], "[1,3]"],
    ["[1,2,3]", [2], "[1,2]"],
    ["[1,2,3]", [0, 2], "[2]"],
    ["[1,2,3]", [0, 1], "[3]"],
    ["[1,2,3]", [1, 2], "[1]"],
    ["[1,2,3]", [0, 1, 2], "[]"],
    ["[1,2,3,4,5]", [1, 3], "[1,3,5]"],
    ["[ 1 , 2 , 3 ]", [1], "[ 1 , 3 ]"],
    ["[ 1 , 2 , 3 ]", [2], "[ 1 , 2 ]"],
    ["[ 1\t,2 ,\t3 ]", [0], "[ 2 ,\t3 ]"],
    ["[1,2,3]", [], "[1,2,3]"],
    ["[]", [], "[]"],
  ])("%s without %j is %s", (text, cut, left) => {
    expect(without(text, ...cut)).toBe(left);
  });
});

test("what is left of an array is what JSON.parse and filter() leave, each element as it was", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createRandom(seed);
      const parts = Array.from({ length: random.below(6) }, () => jsonText(random));
      const text = `{"before":[${parts.join(",")}]}`;
      const bytes = Buffer.from(text);
      const { tree } = readJson(bytes);
      if (tree === null) return;
      const kept = parts.map(() => random.chance(0.5));
      const cut = kept.flatMap((keep, index) => (keep ? [] : [index]));
      const left = without(text, ...cut);
      expect(JSON.parse(left)).toEqual({
        before: (JSON.parse(text) as { before: unknown[] }).before.filter((_, index) => kept[index]),
      });
      const again = readJson(Buffer.from(left)).tree?.members[0].value.elements ?? [];
      const elements = tree.members[0].value.elements.filter((_, index) => kept[index]);
      expect(again.map(({ start, end }) => Buffer.from(left).toString("utf8", start, end))).toEqual(
        elements.map(({ start, end }) => bytes.toString("utf8", start, end)),
      );
    }),
    { numRuns: runs(1500) },
  );
});

test("every byte outside of an edit stays, in a message that is part of a buffer", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.array(fc.nat(60), { maxLength: 8 }),
      fc.uint8Array({ maxLength: 5 }),
      fc.nat(9),
      (content, places, by, margin) => {
        const bytes = Buffer.concat([Buffer.alloc(margin, "<"), content, Buffer.alloc(margin, ">")]);
        const cuts = [...new Set(places.filter((place) => place <= content.length))].sort((one, other) => one - other);
        const edits = cuts.flatMap((start, index) =>
          index % 2 === 0 && cuts[index + 1] !== undefined
            ? [{ span: { start: start + margin, end: cuts[index + 1] + margin }, by: Buffer.from(by) }]
            : [],
        );
        // The plain way: from the back, so that places stay what they were.
        let plain = [...content];
        for (const { span } of edits.toReversed())
          plain = plain.toSpliced(span.start - margin, span.end - span.start, ...by);
        const edited = splice({ bytes, start: margin, end: margin + content.length, ascii: false }, edits);
        expect([...edited]).toEqual(plain);
      },
    ),
    { numRuns: runs(2000) },
  );
});
