import * as fc from "fast-check";
import { expect, test } from "vitest";
import { encodeJson } from "../../src/action/encode.ts";
import { canonicalText } from "../../src/message/canonical.ts";
import { canonicalValue } from "../../src/message/canonical-value.ts";
import type { Json } from "../../src/message/json.ts";

/** The canonical text of the same value as it would stand in a message. */
function inMessage(value: Json): string {
  const bytes = Buffer.from(encodeJson(value) ?? "");
  return canonicalText(bytes, { start: 0, end: bytes.length });
}

test.each<[Json]>([
  [{ b: 1, a: [true, null, "é\n\u{1f600}"] }],
  [{ "": { "\uffff": 1, "\u{10000}": 2, é: 3, z: 4 } }],
  [[1e21, 1e-7, -0, 0.1, 123456789012345680000, 2n ** 70n, -5n]],
])("a value and its JSON have one canonical text: %#", (value) => {
  expect(canonicalValue(value)).toBe(inMessage(value));
});

test("that holds for every value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalValue(value as Json)).toBe(inMessage(value as Json));
    }),
  );
});

test("a large number is the same whether it was read as one of ours or digit by digit", () => {
  expect(canonicalValue(1e21)).toBe(canonicalValue(10n ** 21n));
  expect(canonicalValue(1)).not.toBe(canonicalValue("1"));
});
