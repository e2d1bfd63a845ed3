import { nearest } from "../text/nearest.ts";
import { type FieldDefinition, FIELDS, findAlso, type Word } from "./fields.ts";
import type { Span } from "./filter.ts";
import { createMistake, type FilterMistake, show } from "./mistake.ts";
import { quote } from "./quoted.ts";
import type { TermHead } from "./term-head.ts";
import type { Value } from "./values.ts";

/** The mistake for a term with an unknown field: either another field was meant, or the text itself. */
export function unknownField(text: string, head: TermHead, end: number): FilterMistake {
  const at = { start: head.start, end: head.fieldEnd };
  const says = `Unknown field: ${show(text.slice(head.start, head.fieldEnd))}.`;
  // In a link or after a drive letter, the word before the colon is not a misspelt field.
  const isLink = head.operator === ":" && /^(?:\/\/|\\)/.test(text.slice(head.valueStart, head.valueStart + 2));
  const meant = isLink ? null : (findAlso(FIELDS, head.name)?.name ?? nearest(head.name, FIELD_NAMES));
  if (meant !== null) {
    const fix = { start: head.start, end: head.nameEnd, text: meant };
    return createMistake({ at, fix }, `${says} Did you mean `, meant + text.slice(head.nameEnd, head.fieldEnd), "?");
  }
  const quoted = quote(text.slice(head.start, end));
  const fix = { start: head.start, end, text: quoted };
  return createMistake({ at, fix }, `${says} To look for this text, write `, quoted);
}

const FIELD_NAMES = FIELDS.map(({ name }) => name);

/** The mistake for a word that a field never holds. */
export function unknownWord(field: FieldDefinition, { start, end, text }: Value): FilterMistake {
  const at: Span = { start, end };
  const names = field.words.map(({ name }) => name);
  const meant = findAlso<Word>(field.words, text)?.name ?? nearest(text, names);
  const says = field.name === "is" ? `A row is never ${show(text)}.` : `${field.name} is never ${show(text)}.`;
  if (meant === null) return createMistake({ at }, `${says} It is one of ${names.join(", ")}`);
  return createMistake({ at, fix: { start, end, text: meant } }, `${says} Did you mean `, meant, "?");
}
