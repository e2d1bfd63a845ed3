import { createMistake } from "./mistake.ts";
import { note, type Reader, type TokenKind } from "./reader.ts";

/**
 * Reads the quoted text at the current position. If the quote is not closed, that is a mistake, and the text extends to
 * the end.
 */
export function readQuoted(reader: Reader, kind: TokenKind): string {
  const { text, at: start } = reader;
  const end = endOfQuoted(text, start);
  reader.at = end ?? text.length;
  note(reader, kind, start);
  if (end !== null) return unquote(text.slice(start + 1, end - 1));
  // A single backslash at the end would escape the quote that the fix adds.
  const closing = text.endsWith("\\") && !text.endsWith("\\\\") ? '\\"' : '"';
  reader.mistakes.push(
    createMistake(
      { at: { start, end: start + 1 }, fix: { start: text.length, end: text.length, text: closing } },
      'This " is never closed',
    ),
  );
  return unquote(text.slice(start + 1));
}

/** The offset after the closing quote of the text that begins at `start`, or null. */
export function endOfQuoted(text: string, start: number): number | null {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  return null;
}

/** A quoted text in the syntax of filters. */
export function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

// A backslash escapes only a quote or a backslash; otherwise it is literal, so that "C:\new" needs no escape.
function unquote(inner: string): string {
  return inner.replaceAll(/\\(["\\])/g, "$1");
}
