import { createMistake } from "./mistake.ts";
import { note, type Reader, type TokenKind } from "./reader.ts";

/** Reads the quoted text that begins here. Where it is not closed, that is a mistake and the rest of the filter is in it. */
export function readQuoted(reader: Reader, kind: TokenKind): string {
  const { text, at: start } = reader;
  const end = endOfQuoted(text, start);
  reader.at = end ?? text.length;
  note(reader, kind, start);
  if (end !== null) return unquote(text.slice(start + 1, end - 1));
  // A lone backslash at the end would take the quote that is added for its own.
  const closing = text.endsWith("\\") && !text.endsWith("\\\\") ? '\\"' : '"';
  reader.mistakes.push(
    createMistake(
      { at: { start, end: start + 1 }, fix: { start: text.length, end: text.length, text: closing } },
      'This " is never closed',
    ),
  );
  return unquote(text.slice(start + 1));
}

/** Behind the quote that closes the text that begins here, or null. */
export function endOfQuoted(text: string, start: number): number | null {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  return null;
}

/** A text in quotes, as a filter writes it. */
export function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

// Before anything else a backslash is itself: "C:\new" is what it looks like.
function unquote(inner: string): string {
  return inner.replaceAll(/\\(["\\])/g, "$1");
}
