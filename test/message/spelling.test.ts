import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fold, isAlike, isAlikeAt } from "../../src/message/fold.ts";
import { createKeySet } from "../../src/message/key-set.ts";
import { hashString, isSameString, isSpelled } from "../../src/message/spelling.ts";
import { runs } from "../support/runs.ts";

/** A text as somebody may spell it in JSON: with each unit as it is, or escaped in one way or another. */
function spell(text: string, ways: readonly number[]): string {
  const quoted = Array.from({ length: text.length }, (_, nth) => {
    const unit = text.charCodeAt(nth);
    const way = ways[nth % Math.max(1, ways.length)] ?? 0;
    const hex = unit.toString(16).padStart(4, "0");
    if (way === 1) return `\\u${hex}`;
    if (way === 2) return `\\u${hex.toUpperCase()}`;
    const short = JSON.stringify(String.fromCharCode(unit)).slice(1, -1);
    // Half of a pair can be written as it is only beside the other half.
    return unit >= 0xd800 && unit <= 0xdfff ? `\\u${hex}` : short;
  });
  return quoted.join("");
}

const ways = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 5 });
const texts = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.string());

/** The bytes of a string in quotes, somewhere in a buffer. */
function place(spelled: string): { bytes: Buffer; start: number; end: number } {
  const bytes = Buffer.from(`  "${spelled}" `);
  return { bytes, start: 3, end: bytes.length - 2 };
}

describe("a string in a message", () => {
  test("says a text exactly where JSON.parse reads that text", () => {
    fc.assert(
      fc.property(texts, texts, ways, (text, other, how) => {
        const { bytes, start, end } = place(spell(text, how));
        expect(isSpelled(bytes, start, end, text)).toBe(true);
        expect(isSpelled(bytes, start, end, other)).toBe(other === text);
        expect(isSpelled(bytes, start, end, `${text}a`)).toBe(false);
        expect(isSpelled(bytes, start, end, `${text}"`)).toBe(false);
      }),
      { numRuns: runs(2000) },
    );
  });

  test("is the same as another where both say the same, and has the same hash then", () => {
    fc.assert(
      fc.property(texts, fc.oneof(texts, fc.constant(null)), ways, ways, (text, given, one, another) => {
        const other = given ?? text;
        const bytes = Buffer.from(`"${spell(text, one)}":"${spell(other, another)}"`);
        const second = bytes.indexOf('":"') + 3;
        // A text with these characters in it would be cut short by the search.
        fc.pre(!text.includes('":"') && bytes.lastIndexOf('":"') + 3 === second);
        expect(isSameString(bytes, 1, second)).toBe(text === other);
        if (text !== other) return;
        const hashes = [hashString(bytes, 1, second - 3, 7), hashString(bytes, second, bytes.length - 1, 7)];
        expect(hashes[0]).toBe(hashes[1]);
        expect(hashes[0] === undefined).toBe(!text.isWellFormed());
      }),
      { numRuns: runs(2000) },
    );
  });

  test("is taken for a key that matters as its text is", () => {
    const folded = new Set(["method", "params", "id"]);
    const near = fc
      .array(
        fc.constantFrom(
          "m",
          "E",
          "ｔ",
          "ℎ",
          "o",
          "Ｄ",
          "𝐝",
          "\u200b",
          "\u0301",
          "ï",
          "ﬁ",
          "i",
          "ⅾ",
          " ",
          "é",
          "\ud835",
        ),
      )
      .map((letters) => letters.join(""));
    fc.assert(
      fc.property(fc.oneof(texts, near), ways, (text, how) => {
        // The long way: all that does not show is taken out, and the rest is folded as a whole.
        const wanted = folded.has(fold(text));
        expect(isAlike(text, folded)).toBe(wanted);
        const { bytes, start, end } = place(spell(text, how));
        expect(isAlikeAt(bytes, start, end, folded)).toBe(wanted);
      }),
      { numRuns: runs(5000) },
    );
  });
});

describe("a set of keys", () => {
  test.each([
    ["a table with room", undefined],
    ["a table in which keys soon fall near each other", 2],
  ])("finds each key that is there twice, however it is spelled: %s", (_, maxProbes) => {
    const keys = fc.array(fc.tuple(fc.oneof(fc.string({ maxLength: 2 }), texts), ways), { maxLength: 200 });
    const set = createKeySet(maxProbes);
    fc.assert(
      fc.property(keys, (some) => {
        const known = new Set<string>();
        const bytes = Buffer.from(some.map(([text, how]) => `"${spell(text, how)}"`).join(""));
        let at = 1;
        set.clear();
        for (const [text, how] of some) {
          const length = Buffer.byteLength(spell(text, how));
          const wanted = known.has(text) ? "twice" : "new";
          expect(set.add(bytes, at, at + length)).toBe(text.isWellFormed() ? wanted : "broken");
          known.add(text);
          at += length + 2;
        }
      }),
      { numRuns: runs(500) },
    );
  });
});
