import * as fc from "fast-check";
import { isAmount, parseAmount } from "../../src/filter/amounts.ts";
import { type FieldDefinition, FIELDS, findField } from "../../src/filter/fields.ts";
import type { Amount, AmountRange, Comparison, FilterNode } from "../../src/filter/filter.ts";

const AT = { start: 0, end: 0 };

/** A node without a place. */
function node(parts: object): FilterNode {
  return { ...parts, ...AT } as FilterNode;
}

/** Texts that mean something to the grammar, to JavaScript, to SQL or to a terminal. */
const odd = fc.constantFrom(
  "or",
  "AND",
  "not",
  "-a",
  "--",
  "*",
  "a*",
  "~/x/",
  '"',
  "\\",
  "a:b",
  "tool",
  "tool:x",
  "(",
  ")",
);
const exotic = fc.constantFrom(
  "K",
  "ſ",
  "İ",
  "é",
  "É",
  "ß",
  "ς",
  "Σ",
  "猫",
  "😀",
  "\ud800",
  "%",
  "_",
  "'",
  "a\nb",
  "\u202e",
  "..",
  "5ms",
);
const small = fc.string({
  unit: fc.constantFrom("a", "A", "b", "k", "K", "s", "é", "É", "%", "/", " ", "."),
  maxLength: 4,
});

/** A value of a text field, or a text in a row. */
export const someText = fc.oneof({ weight: 4, arbitrary: small }, odd, exotic, fc.string({ maxLength: 6 }));

const step = fc.oneof(
  fc.constantFrom("a", "b", "path", "0", "a.b", "x:y", "é", "", 'q"', "\\"),
  fc.integer({ min: 0, max: 3 }),
);

/** A path into arguments or a result. */
const somePath = fc.array(step, { maxLength: 3 });

const textField = fc
  .constantFrom("shown" as const, ...FIELDS.filter(({ kind }) => kind === "text").map(({ name }) => name))
  .chain((name) => {
    const hasPath = name !== "shown" && findField(name)?.hasPath === true;
    return (hasPath ? somePath : fc.constant([])).map((path) => ({ name, path }) as never);
  });

/** Patterns without anything that is read otherwise in JavaScript than in RE2. */
const source = fc.constantFrom("a", "^a", "b$", "[ak]", "a|b", "a/b", "\\.", "a b", '"', "(?:a)+", "x{2}");

const amountTexts: Readonly<Record<string, readonly string[]>> = {
  time: [
    "-10m",
    "-1d",
    "-0s",
    "12:04",
    "23:59:59",
    "00:00:00.5",
    "2026-11-16",
    "2026-11-16T12:00Z",
    "2026-11-16T12:00:30+02:00",
  ],
  latency: ["0ms", "5ms", "2.5ms", "1s", "0.10s", "2m", "1h"],
  held: ["0ms", "5ms", "1s", "2m"],
  bytes: ["0B", "5B", "1KB", "1.5KB", "2MB"],
  sent: ["0B", "5B", "1KB"],
  code: ["-32603", "-1", "0", "5"],
  score: ["0", "0.5", "0.90", "1"],
};

function amountsOf(field: FieldDefinition): Amount[] {
  return amountTexts[field.name].map((text) => {
    const read = parseAmount(field, text);
    if (!isAmount(read)) throw new Error(`${text}: ${read.problem}`);
    return read;
  });
}

function rangeOf(from: Amount, to: Amount): AmountRange {
  if (from.kind === "clock" || from.kind !== to.kind) return { from, to };
  return valueOf(from) <= valueOf(to) ? { from, to } : { from: to, to: from };
}

function valueOf(amount: Amount): number {
  return amount.kind === "number"
    ? amount.value
    : amount.kind === "ago"
      ? -amount.milliseconds
      : Date.parse(amount.text);
}

const amountTerm = fc.constantFrom(...FIELDS.filter(({ kind }) => kind === "amount")).chain((definition) => {
  const amount = fc.constantFrom(...amountsOf(definition));
  const field = { name: definition.name as never, path: [] };
  const single = amount.filter(({ kind }) => kind !== "ago").map((from): AmountRange => ({ from, to: null }));
  const range = fc.oneof(
    single,
    fc.tuple(amount, amount).map(([from, to]) => rangeOf(from, to)),
  );
  return fc.oneof<[fc.Arbitrary<FilterNode>, fc.Arbitrary<FilterNode>]>(
    fc.array(range, { minLength: 1, maxLength: 2 }).map((ranges) => node({ kind: "within", field, ranges })),
    fc
      .tuple(fc.constantFrom<Comparison>(">", ">=", "<", "<="), amount)
      .map(([operator, amount]) => node({ kind: "compare", field, operator, amount })),
  );
});

const wordTerm = fc.constantFrom(...FIELDS.filter(({ kind }) => kind === "word")).chain(({ name, words }) =>
  fc
    .subarray(
      words.map((word) => word.name),
      { minLength: 1, maxLength: 2 },
    )
    .map((some): FilterNode => node({ kind: "word", field: { name: name as never, path: [] }, words: some })),
);

const values = fc.array(someText, { minLength: 1, maxLength: 3 });

const textTerm: fc.Arbitrary<FilterNode> = fc
  .tuple(textField, values, source, fc.boolean(), fc.constantFrom("contains", "equals", "matches"))
  .map(([field, list, source, ignoreCase, kind]): FilterNode => {
    const { name } = field as { name: string };
    if (kind === "matches") return node({ kind, field, source, ignoreCase });
    if (name === "shown") return node({ kind: "contains", field, values: list.slice(0, 1) });
    return node({ kind: kind as "contains", field, values: list });
  });

const existsTerm = fc
  .constantFrom(...FIELDS)
  .map(({ name }): FilterNode => node({ kind: "exists", field: { name, path: [] } }));

/** A part of a filter such as reading makes it, without places. */
export const someNode: fc.Arbitrary<FilterNode> = fc.letrec<{ node: FilterNode; term: FilterNode }>((tie) => ({
  term: fc.oneof({ weight: 3, arbitrary: textTerm }, { weight: 2, arbitrary: amountTerm }, wordTerm, existsTerm),
  node: fc.oneof(
    { maxDepth: 3, depthIdentifier: "node" },
    { weight: 2, arbitrary: tie("term") },
    fc
      .tuple(fc.constantFrom("all" as const, "any" as const), fc.array(tie("node"), { minLength: 2, maxLength: 3 }))
      .map(([kind, of]): FilterNode => node({ kind, of })),
    tie("node").map((of): FilterNode => node({ kind: "not", of })),
  ),
})).node;
