import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compareDecimals, decimalOf, readDecimal } from "../../src/rules/numbers.ts";
import { Unjudgeable } from "../../src/rules/unjudgeable.ts";
import { runs } from "../support/runs.ts";

function compareNumbers(one: string, other: string): number {
  return compareDecimals(readDecimal(one), readDecimal(other));
}

test.each([
  ["9007199254740993", "9007199254740992", 1],
  ["-9007199254740993", "-9007199254740992", -1],
  ["0", "-0", 0],
  ["0.0e7", "-0.000", 0],
  ["1", "1.0", 0],
  ["1", "10e-1", 0],
  ["100", "1E2", 0],
  ["0.1", "0.10000000000000000001", -1],
  ["1e400", "1e401", -1],
  ["1e400", "9".repeat(400), 1],
  ["-1e400", "1", -1],
  ["1e-400", "0", 1],
  ["1e-99999999", "-1e-99999999", 1],
  ["123456789012345678901234567890", "123456789012345678901234567891", -1],
  ["5", "50", -1],
  ["0.5", "0.05", 1],
  ["1e+0000000000000000000000002", "100", 0],
])("%s against %s is %d", (one, other, sign) => {
  expect(Math.sign(compareNumbers(one, other))).toBe(sign);
  expect(Math.sign(compareNumbers(other, one))).toBe(sign === 0 ? 0 : -sign);
});

test("integers of any size compare as big integers do", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.bigInt(-1000n, 1000n), (one, step) => {
      const other = one + step;
      expect(Math.sign(compareNumbers(String(one), String(other)))).toBe(one < other ? -1 : one > other ? 1 : 0);
    }),
  );
});

/** A number as mantissa × 10^exponent, in one of its spellings. */
const spelled = fc
  .record({
    mantissa: fc.bigInt(-(10n ** 20n), 10n ** 20n),
    exponent: fc.integer({ min: -30, max: 30 }),
    cut: fc.nat({ max: 25 }),
    zeros: fc.nat({ max: 3 }),
  })
  .map(({ mantissa, exponent, cut, zeros }) => {
    const digits = String(mantissa < 0n ? -mantissa : mantissa).padStart(cut + 1, "0");
    const whole = digits.slice(0, digits.length - cut).replace(/^0+(?=\d)/, "");
    const fraction = digits.slice(digits.length - cut) + "0".repeat(zeros);
    const text = `${mantissa < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}e${exponent + cut}`;
    return { text, scaled: mantissa * 10n ** BigInt(exponent + 30) };
  });

test("the spelling of a number does not matter, and its value is exact", () => {
  fc.assert(
    fc.property(spelled, spelled, (one, other) => {
      const wanted = one.scaled < other.scaled ? -1 : one.scaled > other.scaled ? 1 : 0;
      expect(Math.sign(compareNumbers(one.text, other.text))).toBe(wanted);
    }),
    { numRuns: runs(2000) },
  );
});

test("a number of a policy file is what it is written as", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(compareDecimals(decimalOf(value), readDecimal(JSON.stringify(value)))).toBe(0);
    }),
  );
  expect(compareDecimals(decimalOf(2n ** 70n), readDecimal("1180591620717411303424"))).toBe(0);
});

test("what is beyond comparison is said to be", () => {
  expect(() => compareNumbers("1e999999999999999", "1")).toThrow(Unjudgeable);
  expect(() => decimalOf(Number.POSITIVE_INFINITY)).toThrow("not a number");
  expect(() => decimalOf(Number.NaN)).toThrow("not a number");
});
