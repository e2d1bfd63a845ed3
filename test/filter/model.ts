import type { Amount, AmountRange, FilterNode, FilterTerm } from "../../src/filter/filter.ts";
import { FIELDS } from "../../src/filter/fields.ts";
import type { FilterRow } from "../../src/filter/row.ts";

// The meaning of a filter, written as plainly as possible and without a thought for speed.

/** Whether a row fits: yes, no, or nobody knows. */
export function judge(node: FilterNode, row: FilterRow, now: number): boolean | undefined {
  if (node.kind === "not") {
    const inner = judge(node.of, row, now);
    return inner === undefined ? undefined : !inner;
  }
  if (node.kind === "all" || node.kind === "any") {
    const answers = new Set(node.of.map((each) => judge(each, row, now)));
    const decisive = node.kind === "any";
    if (answers.has(decisive)) return decisive;
    return answers.has(undefined) ? undefined : !decisive;
  }
  return judgeTerm(node as FilterTerm, row, now);
}

function judgeTerm(term: FilterTerm, row: FilterRow, now: number): boolean | undefined {
  const { name } = term.field;
  if (name === "is") {
    const words = term.kind === "word" ? term.words : (FIELDS.find((field) => field.name === "is")?.words ?? []);
    const answers = new Set(words.map((word) => row.is(typeof word === "string" ? word : word.name)));
    return answers.has(true) ? true : answers.has(undefined) ? undefined : false;
  }
  const value = read(term, row);
  if (value === undefined) return undefined;
  if (value === null) return false;
  switch (term.kind) {
    case "exists":
      return true;
    case "contains":
      return term.values.some((wanted) => foldCase(String(value)).includes(foldCase(wanted)));
    case "equals":
      return term.values.includes(String(value));
    case "matches":
      return new RegExp(term.source, term.ignoreCase ? "iu" : "u").test(String(value));
    case "word":
      return term.words.includes(String(value));
    case "within":
      return term.ranges.some((range) => isWithin(Number(value), range, now));
    case "compare": {
      const bound = startOf(term.amount, now);
      const amount = Number(value);
      const comparisons = { ">": amount > bound, ">=": amount >= bound, "<": amount < bound, "<=": amount <= bound };
      return comparisons[term.operator];
    }
  }
}

function read({ field }: FilterTerm, row: FilterRow): string | number | null | undefined {
  const { name, path } = field;
  if (name === "shown") return row.shown();
  if (name === "arg" || name === "result" || name === "text") return row.body(name, path);
  const kind = FIELDS.find((each) => each.name === name)?.kind;
  if (kind === "amount") return row.amount(name as never);
  return kind === "word" ? row.word(name as never) : row.text(name as never);
}

/** Letters of either case are the same; no letter outside ASCII is the same as one of ASCII. */
function foldCase(text: string): string {
  let folded = "";
  for (let at = 0; at < text.length; at++) {
    const upper = text[at].toUpperCase();
    folded += upper.length !== 1 || (text[at] > "\x7f" && upper <= "\x7f") ? text[at] : upper;
  }
  return folded;
}

function isWithin(value: number, { from, to }: AmountRange, now: number): boolean {
  if (to === null) {
    if (from.kind !== "number") return value >= startOf(from, now) && value < startOf(from, now) + lengthOf(from);
    return value >= from.value - from.step / 2 && value < from.value + from.step / 2;
  }
  const start = startOf(from, now);
  if (to.kind === "number" || to.kind === "ago") return value >= start && value <= startOf(to, now);
  let end = startOf(to, now);
  if (to.kind === "clock") {
    // The first time after the start at which clocks show this. No test is about a day with 23 hours.
    while (end < start) end += DAY;
    while (end - DAY >= start) end -= DAY;
  }
  return value >= start && value < end + lengthOf(to);
}

const DAY = 86_400_000;

function startOf(amount: Amount, now: number): number {
  if (amount.kind === "number") return amount.value;
  if (amount.kind === "ago") return now - amount.milliseconds;
  if (amount.kind === "date") return Date.parse(amount.text.includes("T") ? amount.text : `${amount.text}T00:00`);
  const [hour, minute, second, millisecond] = amount.parts;
  const today = new Date(now).setHours(hour, minute, second, millisecond);
  return today <= now ? today : today - DAY;
}

function lengthOf(amount: Amount): number {
  if (amount.kind === "clock") return amount.lasts;
  return amount.kind === "date" ? (amount.lasts === "day" ? DAY : amount.lasts) : 0;
}
