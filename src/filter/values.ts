import type { Span } from "./filter.ts";
import { createMistake, show } from "./mistake.ts";
import { quote, readQuoted } from "./quoted.ts";
import { endOfBare, endOfRun, isBoundary, isSpace, note, type Reader } from "./reader.ts";
import { findHead, type TermHead } from "./term-head.ts";

/** A value of a term. */
export interface Value extends Span {
  readonly text: string;
  readonly isBare: boolean;
}

/** Reads the values after an operator, one or several separated by commas; null if one has a mistake. */
export function readValues(reader: Reader, head: TermHead): Value[] | null {
  const { text } = reader;
  const values: Value[] = [];
  let isGood = true;
  for (let after: Span = { start: head.start, end: reader.at }; ;) {
    const value = readValue(reader, head, after);
    if (value === null) isGood = false;
    else values.push(value);
    if (text[reader.at] !== ",") return isGood ? values : null;
    const comma = reader.at++;
    note(reader, "comma", comma);
    after = { start: comma, end: reader.at };
  }
}

function readValue(reader: Reader, head: TermHead, after: Span): Value | null {
  const { text, at: start } = reader;
  if (text[start] === '"') {
    const value = readQuoted(reader, "value");
    const end = reader.at;
    return isValueEnd(text, end) || missesSpace(reader) ? { start, end, text: value, isBare: false } : null;
  }
  const end = endOfBare(text, start);
  if (end === start) return nothing(reader, head, after);
  reader.at = end;
  note(reader, "value", start);
  if (isValueEnd(text, end)) return { start, end, text: text.slice(start, end), isBare: true };
  needsQuotes(reader, start);
  return null;
}

function isValueEnd(text: string, at: number): boolean {
  return text[at] === "," || isBoundary(text, at);
}

/** Reports a missing space after a quoted text. Returns true, because the text itself is valid. */
export function missesSpace(reader: Reader): true {
  const { at } = reader;
  const fix = { start: at, end: at, text: " " };
  reader.mistakes.push(createMistake({ at: { start: at, end: at + 1 }, fix }, 'A space is missing after this "'));
  return true;
}

/** Reports a text that has to be quoted, because the character at the current position ends bare text. */
export function needsQuotes(reader: Reader, start: number): void {
  const { text, at } = reader;
  const end = Math.max(endOfRun(text, start), at + 1);
  const quoted = quote(text.slice(start, end));
  reader.at = end;
  const mistake = createMistake(
    { at: { start, end }, fix: { start, end, text: quoted } },
    `Text with ${text[at]} in it stands in quotes. Did you mean `,
    quoted,
    "?",
  );
  reader.mistakes.push(mistake);
}

/** Reports a missing value. */
function nothing(reader: Reader, head: TermHead, after: Span): null {
  const { text, at } = reader;
  const what = show(text.slice(after.start, after.end));
  const isFirst = after.start === head.start;
  if (text[at] === "(" && isFirst) return brackets(reader, head, what);
  const next = isSpace(text, at) ? at + (text.slice(at).length - text.slice(at).trimStart().length) : at;
  const end = endOfBare(text, next);
  const word = text.slice(next, end);
  // A following term, `or` or `and` is not the missing value.
  const isMeant = next > at && end > next && findHead(text, next) === null && !/^(?:or|and)$/i.test(word);
  if (isMeant) {
    const joined = text.slice(after.start, at) + word;
    const fix = { start: at, end: next, text: "" };
    reader.mistakes.push(createMistake({ at: after, fix }, `Nothing after ${what}. Did you mean `, joined, "?"));
  } else {
    const fix = isFirst ? undefined : { ...after, text: "" };
    reader.mistakes.push(createMistake({ at: after, fix }, `Nothing after ${what}`));
  }
  return null;
}

/** Reports a list in brackets, as in `tool:(a or b)`. */
function brackets(reader: Reader, head: TermHead, what: string): null {
  const { text, at: start } = reader;
  const close = text.indexOf(")", start);
  const inner = text.slice(start + 1, close < 0 ? text.length : close);
  const end = close < 0 ? text.length : close + 1;
  const isSimple = !/["(]/.test(inner);
  const words = inner.split(/[\s,]+/).filter((word) => word !== "" && word.toLowerCase() !== "or");
  reader.at = end;
  note(reader, "value", start);
  const at = { start: head.start, end };
  const says = `${what} takes values with commas between them`;
  if (!isSimple || words.length === 0) reader.mistakes.push(createMistake({ at }, says));
  else {
    const list = words.join(",");
    const fix = { start, end, text: list };
    reader.mistakes.push(
      createMistake({ at, fix }, `${says}. Did you mean `, text.slice(head.start, start) + list, "?"),
    );
  }
  return null;
}
