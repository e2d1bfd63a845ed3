import { findField } from "./fields.ts";
import { createMistake } from "./mistake.ts";
import { endOfBare, matchEnd, type Reader } from "./reader.ts";
import { findHead } from "./term-head.ts";
import type { Value } from "./values.ts";

/**
 * Reports a bare word that is syntax of another filter language. As text, it would silently search for the wrong thing.
 */
export function foreignWord(reader: Reader, word: Value): boolean {
  const { text: whole, mistakes } = reader;
  const { start, end, text } = word;
  const at = { start, end };
  const keyword = KEYWORDS.get(text);
  if (keyword !== undefined) {
    mistakes.push(createMistake({ at, fix: { ...at, text: keyword } }, `${text} is written as `, keyword));
    return true;
  }
  const next = matchEnd(SPACES, whole, end);
  const isNot = text === "NOT" ? next < whole.length : text === "not" && beginsPart(whole, next);
  if (isNot || (text === "!" && whole[end] === "(")) {
    mistakes.push(createMistake({ at, fix: { start, end: next, text: "-" } }, `${text} is written as `, "-"));
    return true;
  }
  if (text.startsWith("!") && beginsPart(whole, start + 1)) {
    const mark = { start, end: start + 1 };
    mistakes.push(createMistake({ at: mark, fix: { ...mark, text: "-" } }, "! is written as ", "-"));
    return true;
  }
  return isOperator(reader, word, next);
}

const KEYWORDS = new Map([
  ["||", "or"],
  ["|", "or"],
  ["&&", "and"],
  ["&", "and"],
]);

const SPACES = /\s+/y;

/** Whether a group or a term with a known field begins here. */
function beginsPart(text: string, at: number): boolean {
  return text[at] === "(" || findHead(text, at)?.field !== undefined;
}

/** Reports an operator with spaces around it, as in `latency > 50ms`. */
function isOperator({ text: whole, tokens, mistakes }: Reader, { start, end, text }: Value, next: number): boolean {
  const operator = /^(?:!=|>=|<=|==?|[:<>~])/.exec(text)?.[0];
  // The last token is the word itself; the one before it would be the field.
  const before = tokens[tokens.length - 2];
  if (operator === undefined || before?.kind !== "text") return false;
  const field = whole.slice(before.start, before.end);
  if (findField(field.replace(/[.[].*$/s, "")) === undefined) return false;
  const last = operator === text ? endOfBare(whole, next) : end;
  const value = operator === text ? whole.slice(next, last) : text.slice(operator.length);
  const joined = `${field}${operator}${value}`;
  const at = { start: before.start, end: Math.max(last, end) };
  mistakes.push(createMistake({ at, fix: { ...at, text: joined } }, `${operator} stands without spaces: `, joined));
  return start > before.end;
}
