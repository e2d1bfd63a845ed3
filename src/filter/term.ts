import { isPathFlaw, readPath, type Steps } from "../text/path.ts";
import { amountTerm } from "./amount-term.ts";
import { type FieldDefinition, findWord, type TextField, type WordField } from "./fields.ts";
import type { FieldRef, FilterNode, FilterTerm, Span, TextRef } from "./filter.ts";
import { createMistake, show } from "./mistake.ts";
import { readPattern } from "./pattern-text.ts";
import { count, endOfRun, isBoundary, note, type Reader } from "./reader.ts";
import { starInValue } from "./stars.ts";
import type { TermHead } from "./term-head.ts";
import { unknownField, unknownWord } from "./unknown.ts";
import { readValues, type Value } from "./values.ts";

/** Reads the term that begins with `head`; null if it has a mistake. */
export function readTerm(reader: Reader, head: TermHead): FilterNode | null {
  const { text, mistakes } = reader;
  const { start, field, operator, fieldEnd } = head;
  reader.at = fieldEnd;
  note(reader, "field", start);
  reader.at = head.valueStart;
  note(reader, "operator", fieldEnd);
  if (field === undefined) {
    const values = skipUnknown(reader, head);
    mistakes.push(unknownField(text, head, values));
    return null;
  }
  const path = readFieldPath(reader, head, field);
  if (operator === "~") return patternTerm(reader, head, field, path);
  if (operator === ":" && text[reader.at] === "*" && isBoundary(text, reader.at + 1)) {
    const valueStart = reader.at++;
    note(reader, "value", valueStart);
    if (path === null) return null;
    return count(reader, { kind: "exists", field: { name: field.name, path }, start, end: reader.at });
  }
  if (field.kind === "amount") return amountTerm(reader, head, field);
  const values = readValues(reader, head);
  if (values === null || path === null || isWrongOperator(reader, head, field)) return null;
  const span: Span = { start, end: reader.at };
  const made = field.kind === "word" ? wordTerm(reader, field, values, span) : textTerm(reader, head, values, path);
  const node = made === null ? null : count<FilterTerm>(reader, made, values.length);
  return node !== null && operator === "!=" ? { kind: "not", of: node, ...span } : node;
}

/** Skips a term with an unknown field, and returns its end. */
function skipUnknown(reader: Reader, head: TermHead): number {
  const before = reader.mistakes.length;
  if (head.operator === "~") readPattern(reader);
  else if (readValues(reader, head) === null) reader.at = Math.max(reader.at, endOfRun(reader.text, head.start));
  // Other mistakes in the term do not matter until its field is known.
  reader.mistakes.length = before;
  return reader.at;
}

function readFieldPath({ text, mistakes }: Reader, head: TermHead, field: FieldDefinition): Steps | null {
  const { start, nameEnd, fieldEnd } = head;
  if (nameEnd === fieldEnd) return [];
  if (!field.hasPath) {
    const says = `Unknown field: ${show(text.slice(start, fieldEnd))}. Did you mean `;
    const fix = { start: nameEnd, end: fieldEnd, text: "" };
    mistakes.push(createMistake({ at: { start, end: fieldEnd }, fix }, says, field.name, "?"));
    return null;
  }
  const from = nameEnd + (text[nameEnd] === "." ? 1 : 0);
  const steps = readPath(text.slice(from, fieldEnd));
  if (!isPathFlaw(steps)) return steps;
  const at = { start: from + steps.at, end: from + steps.at + steps.length };
  mistakes.push(createMistake({ at }, [steps.message, steps.suggestion].filter((said) => said !== null).join(". ")));
  return null;
}

function patternTerm(
  reader: Reader,
  { start, fieldEnd, valueStart }: TermHead,
  field: FieldDefinition,
  path: Steps | null,
): FilterNode | null {
  const { text, mistakes } = reader;
  const at = { start: fieldEnd, end: valueStart };
  if (text[valueStart] !== "/") {
    reader.at = endOfRun(text, valueStart);
    note(reader, "pattern", valueStart);
    const piece = text.slice(valueStart, reader.at);
    if (piece === "") mistakes.push(createMistake({ at }, `Nothing after ${show(text.slice(start, valueStart))}`));
    else {
      const pattern = `/${piece.replaceAll("/", "\\/")}/`;
      const fix = { start: valueStart, end: reader.at, text: pattern };
      mistakes.push(createMistake({ at: fix, fix }, "A pattern stands between slashes. Did you mean ", pattern, "?"));
    }
    return null;
  }
  const pattern = readPattern(reader);
  if (field.kind !== "text") {
    mistakes.push(createMistake({ at }, `${field.name} is not text: ~ looks for a pattern in text`));
    return null;
  }
  if (pattern === null || path === null) return null;
  const ref: TextRef = { name: field.name as TextField, path };
  return count(reader, { kind: "matches", field: ref, ...pattern, start, end: reader.at });
}

/** Reports an operator that cannot be used with text or words. */
function isWrongOperator({ mistakes }: Reader, head: TermHead, { name, kind }: FieldDefinition): boolean {
  const { operator, fieldEnd, valueStart } = head;
  if (operator === ":" || operator === "=" || operator === "!=") return false;
  const at = { start: fieldEnd, end: valueStart };
  if (operator === "==") {
    mistakes.push(createMistake({ at, fix: { ...at, text: "=" } }, "== is written as ", "="));
  } else {
    const what = kind === "text" ? "text" : "a word";
    mistakes.push(createMistake({ at }, `${name} is ${what}: ${operator} compares amounts such as latency`));
  }
  return true;
}

function textTerm(reader: Reader, head: TermHead, values: readonly Value[], path: Steps): FilterTerm | null {
  const field = head.field as FieldDefinition;
  const stars = values.filter((value) => starInValue(reader, head, field, value, values.length));
  if (stars.length > 0) return null;
  return {
    kind: head.operator === ":" ? "contains" : "equals",
    field: { name: field.name as TextField, path },
    values: values.map(({ text }) => text),
    start: head.start,
    end: reader.at,
  };
}

function wordTerm(
  { mistakes }: Reader,
  field: FieldDefinition,
  values: readonly Value[],
  span: Span,
): FilterTerm | null {
  const words: string[] = [];
  for (const value of values) {
    const word = findWord(field, value.text);
    if (word === undefined) mistakes.push(unknownWord(field, value));
    else words.push(word.name);
  }
  const ref: FieldRef<WordField> = { name: field.name as WordField, path: [] };
  return words.length < values.length ? null : { kind: "word", field: ref, words, ...span };
}
