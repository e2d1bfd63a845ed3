import * as fc from "fast-check";
import { FIELDS } from "../../src/filter/fields.ts";
import { someText } from "./filters.ts";
import type { Row } from "./support.ts";

/** When the filters of tests are asked. */
export const NOW = new Date(2026, 10, 16, 12, 4, 30, 500).getTime();

const maybe = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null | undefined> =>
  fc.oneof({ weight: 6, arbitrary: value }, { weight: 2, arbitrary: fc.constant(null) }, fc.constant(undefined));

const bodyValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    someText,
    fc.constantFrom(0, 5, -1.5, true, null),
    fc.dictionary(fc.constantFrom("a", "b", "path", "0", "a.b", "x:y", "é", ""), tie("value"), { maxKeys: 3 }),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
})).value;

const numbers: Readonly<Record<string, readonly number[]>> = {
  time: [NOW, NOW - 600_000, NOW - 600_001, NOW - 30_500, NOW - 30_501, NOW + 29_500, NOW - 86_400_000, 0],
  latency: [0, 0.4, 0.5, 4.5, 5, 5.49, 5.5, 2.45, 2.55, 1000, 999.9, 120_000, 3_600_000],
  held: [0, 5, 1000, 120_000],
  bytes: [0, 5, 1023, 1024, 1536, 2_097_152],
  sent: [0, 5, 1024],
  code: [-32603, -1, 0, 5],
  score: [0, 0.5, 0.895, 0.9, 0.905, 1],
};

const fields = Object.fromEntries(
  FIELDS.filter(({ name }) => !["arg", "result", "text", "is"].includes(name)).map(({ name, kind, words }) => [
    name,
    maybe<unknown>(
      kind === "amount"
        ? fc.constantFrom(...numbers[name])
        : kind === "word"
          ? fc.constantFrom(...words.map((word) => word.name))
          : someText,
    ),
  ]),
);

const states = FIELDS.find(({ name }) => name === "is")?.words.map(({ name }) => name) ?? [];

/** A row in which anything may be missing or unknown. */
export const someRow: fc.Arbitrary<Row> = fc.record({
  ...fields,
  shown: maybe(someText),
  args: maybe(bodyValue),
  answer: maybe(bodyValue),
  states: fc.subarray(states),
  unclear: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.subarray(states)),
});
