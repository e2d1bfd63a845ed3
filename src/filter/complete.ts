import { type FieldDefinition, FIELDS, findField } from "./fields.ts";
import type { Span } from "./filter.ts";
import { parseFilter } from "./parse.ts";
import { endOfQuoted } from "./quoted.ts";
import { endOfBare, matchEnd, type Token } from "./reader.ts";

/** What is being typed at the cursor, and the suggestions for it. */
export interface Completion extends Span {
  /** A field or a bare word, the operator after a field, its value, or something without suggestions. */
  readonly at: "field" | "operator" | "value" | "nothing";
  /** The text up to the cursor, without quotes. A suggestion replaces the text from `start` to `end`. */
  readonly typed: string;
  /** The field whose operator or value it is, or with which the path before the cursor begins. */
  readonly field: FieldDefinition | null;
  /** The suggestions that do not depend on rows. The caller can add values from rows. */
  readonly offers: readonly Offer[];
}

/** A suggestion. */
export interface Offer {
  readonly text: string;
  readonly help: string;
}

/** The suggestions at a position in a filter, which may have mistakes. */
export function completeFilter(text: string, cursor: number): Completion {
  // The text after the cursor does not change what is being typed before it.
  const { tokens } = parseFilter(text.slice(0, cursor));
  const last = tokens.at(-1);
  if (last === undefined || last.end < cursor) return fieldAt(text, cursor, cursor);
  switch (last.kind) {
    case "text":
    case "keyword":
      return text[last.start] === '"' ? nothing(last, text, cursor) : fieldAt(text, last.start, cursor);
    case "operator":
    case "comma":
      return valueAt(text, cursor, cursor, lastField(text, tokens));
    case "value":
      return valueAt(text, last.start, cursor, lastField(text, tokens));
    case "pattern":
      return nothing(last, text, cursor);
    case "bracket":
      return text[last.start] === ")" ? nothing(last, text, cursor) : fieldAt(text, cursor, cursor);
    case "minus":
    case "field":
      return fieldAt(text, cursor, cursor);
  }
}

function nothing({ start }: Token, text: string, cursor: number): Completion {
  return { at: "nothing", start, end: cursor, typed: text.slice(start, cursor), field: null, offers: [] };
}

function fieldAt(text: string, start: number, cursor: number): Completion {
  const typed = text.slice(start, cursor);
  const end = matchEnd(FIELD_LETTERS, text, cursor);
  const field = findField(typed.replace(/[.[].*$/s, "")) ?? null;
  if (field !== null && field.name === typed && end === cursor) {
    return { at: "operator", start: cursor, end: cursor, typed: "", field, offers: OPERATORS[field.kind] };
  }
  const small = typed.toLowerCase();
  const offers = FIELDS.filter(({ name }) => name.startsWith(small)).map(({ name, help }) => ({ text: name, help }));
  return { at: "field", start, end, typed, field: typed === "" ? null : field, offers };
}

const FIELD_LETTERS = /[\w.[\]-]*/y;

const OPERATORS: Readonly<Record<FieldDefinition["kind"], readonly Offer[]>> = {
  text: [
    { text: ":", help: "contains, in letters of either case" },
    { text: "=", help: "is exactly" },
    { text: "!=", help: "is not" },
    { text: "~", help: "matches a pattern, /…/" },
    { text: ":*", help: "is there at all" },
  ],
  word: [
    { text: ":", help: "is one of" },
    { text: "!=", help: "is none of" },
  ],
  amount: [
    { text: ">", help: "is more than" },
    { text: ">=", help: "is at least" },
    { text: "<", help: "is less than" },
    { text: "<=", help: "is at most" },
    { text: ":", help: "equals, or lies in a range with .." },
    { text: ":*", help: "is there at all" },
  ],
};

function lastField(text: string, tokens: readonly Token[]): FieldDefinition | null {
  const token = tokens.findLast(({ kind }) => kind === "field");
  if (token === undefined) return null;
  return findField(text.slice(token.start, token.end).replace(/[.[].*$/s, "")) ?? null;
}

function valueAt(text: string, start: number, cursor: number, field: FieldDefinition | null): Completion {
  const isQuoted = text[start] === '"';
  const end = isQuoted ? (endOfQuoted(text, start) ?? cursor) : endOfBare(text, cursor);
  const written = text.slice(start, cursor);
  const typed = isQuoted ? written.slice(1).replaceAll(/\\(["\\])/g, "$1") : written;
  return { at: "value", start, end: Math.max(end, cursor), typed, field, offers: valuesOf(field, typed) };
}

function valuesOf(field: FieldDefinition | null, typed: string): Offer[] {
  if (field === null) return [];
  if (field.kind === "word") {
    const small = typed.toLowerCase();
    return field.words.filter(({ name }) => name.startsWith(small)).map(({ name, help }) => ({ text: name, help }));
  }
  const [number] = /^-?\d+(?:\.\d+)?$/.exec(typed) ?? [];
  if (number === undefined || (field.name === "time" && !number.startsWith("-"))) return [];
  return field.units.map(({ name }) => ({ text: `${number}${name}`, help: "" }));
}
