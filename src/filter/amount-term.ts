import { isAmount, parseAmount } from "./amounts.ts";
import { boundsOf } from "./bounds.ts";
import type { AmountField, FieldDefinition } from "./fields.ts";
import type { Amount, AmountRange, Comparison, FieldRef, FilterNode, FilterTerm, Span } from "./filter.ts";
import { createMistake } from "./mistake.ts";
import { count, type Reader } from "./reader.ts";
import type { TermHead } from "./term-head.ts";
import { readValues, type Value } from "./values.ts";

/** Reads a term whose field holds an amount. */
export function amountTerm(reader: Reader, head: TermHead, field: FieldDefinition): FilterNode | null {
  const { text, mistakes } = reader;
  const { start, operator, fieldEnd, valueStart } = head;
  const values = readValues(reader, head);
  if (values === null) return null;
  const span: Span = { start, end: reader.at };
  const at = { start: fieldEnd, end: valueStart };
  const ref: FieldRef<AmountField> = { name: field.name as AmountField, path: [] };
  if (operator === "==") {
    mistakes.push(createMistake({ at, fix: { ...at, text: "=" } }, "== is written as ", "="));
    return null;
  }
  const doubled = operator === ":" ? /^(?:>=|<=|>|<)/.exec(values[0].text) : null;
  if (doubled !== null) {
    // `latency:>50ms`, as in other filter languages.
    const rest = text.slice(valueStart, span.end);
    const fix = { ...at, text: "" };
    mistakes.push(
      createMistake(
        { at: fix, fix },
        `: and ${doubled[0]} are two operators. Did you mean `,
        `${field.name}${rest}`,
        "?",
      ),
    );
    return null;
  }
  if (operator !== ":" && operator !== "=" && operator !== "!=") {
    const amount = values.length === 1 ? readAmount(reader, field, values[0]) : null;
    if (values.length > 1)
      mistakes.push(createMistake({ at: span }, `${operator} takes one amount: a list goes with :`));
    if (amount === null) return null;
    return count(reader, { kind: "compare", field: ref, operator: operator as Comparison, amount, ...span });
  }
  const ranges = values.map((value) => readRange(reader, field, head, value));
  if (!ranges.every((range) => range !== null)) return null;
  const term = count<FilterTerm>(reader, { kind: "within", field: ref, ranges, ...span }, ranges.length);
  return term !== null && operator === "!=" ? { kind: "not", of: term, ...span } : term;
}

function readRange(reader: Reader, field: FieldDefinition, head: TermHead, value: Value): AmountRange | null {
  const { mistakes } = reader;
  const { text, start, end } = value;
  const dots = text.indexOf("..");
  if (dots < 0) {
    const from = readAmount(reader, field, value);
    if (from?.kind !== "ago") return from === null ? null : { from, to: null };
    const meant = `${field.name}>${from.text}`;
    const fix = { start: head.start, end, text: meant };
    mistakes.push(createMistake({ at: { start, end }, fix }, `${from.text} is one moment. Did you mean `, meant, "?"));
    return null;
  }
  // The text of a quoted value begins after its quote.
  const shift = value.isBare ? start : start + 1;
  const first: Value = { ...value, start: shift, end: shift + dots, text: text.slice(0, dots) };
  const last: Value = { ...value, start: shift + dots + 2, end: shift + text.length, text: text.slice(dots + 2) };
  if (first.text === "" || last.text === "") {
    const meant = `${field.name}${first.text === "" ? "<=" : ">="}${first.text || last.text}`;
    const isPlain = first.text !== last.text && value.isBare;
    const fix = isPlain ? { start: head.start, end, text: meant } : undefined;
    const says = `A range has two ends${isPlain ? ". Did you mean " : ""}`;
    mistakes.push(createMistake({ at: { start, end }, fix }, says, isPlain ? meant : undefined, isPlain ? "?" : ""));
    return null;
  }
  const from = readAmount(reader, field, first);
  const to = readAmount(reader, field, last);
  if (from === null || to === null) return null;
  if (from.kind === to.kind && from.kind !== "clock" && isBackwards({ from, to })) {
    const meant = `${to.text}..${from.text}`;
    const fix = { start: first.start, end: last.end, text: meant };
    mistakes.push(createMistake({ at: fix, fix }, "The range ends before it begins. Did you mean ", meant, "?"));
    return null;
  }
  return { from, to };
}

function isBackwards(range: AmountRange): boolean {
  const { low, high } = boundsOf(range, 0);
  return high < low;
}

function readAmount({ mistakes }: Reader, field: FieldDefinition, { start, end, text }: Value): Amount | null {
  const read = parseAmount(field, text);
  if (isAmount(read)) return read;
  const at = { start, end };
  const { problem, meant } = read;
  if (meant === null) {
    const units = field.units.length > 0 && problem.endsWith("is not a unit");
    const rest = units ? `: the units are ${field.units.map(({ name }) => name).join(", ")}` : "";
    mistakes.push(createMistake({ at }, `${field.name}: ${problem}${rest}`));
  } else {
    const fix = { ...at, text: meant };
    mistakes.push(createMistake({ at, fix }, `${field.name}: ${problem}. Did you mean `, meant, "?"));
  }
  return null;
}
