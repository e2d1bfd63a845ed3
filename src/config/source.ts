import { showText } from "../message/text.ts";
import type { Place } from "../rules/rule.ts";
import type { Excerpt } from "./mistake.ts";

/** A range of offsets in a file, without the end. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** The text of a file, with access by line. */
export interface Source {
  readonly text: string;
  place(offset: number): Place;
  offset(place: Place): number;
  /** The text of a range, on one line and shortened. */
  quote(range: Range): string;
  /** The line in which a range begins. */
  excerpt(range: Range): Excerpt;
  /** Stars out a range from now on. */
  hide(range: Range): void;
}

/** Opens a text from which excerpts are shown to people. */
export function openSource(text: string): Source {
  let starts: readonly number[] | undefined;
  const secrets: Range[] = [];

  const lineOf = (offset: number): number => {
    starts ??= findLines(text);
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  const slice = (start: number, end: number): string => {
    let shown = text.slice(start, end);
    for (const secret of secrets) {
      const from = Math.max(secret.start - start, 0);
      const to = Math.min(secret.end, end) - start;
      if (from < to) shown = shown.slice(0, from) + "*".repeat(to - from) + shown.slice(to);
    }
    return shown.replace(SECRET_BY_NAME, star).replace(SECRET_IN_URL, star);
  };

  return {
    text,
    place(offset) {
      const line = lineOf(offset);
      return { line: line + 1, column: offset - (starts?.[line] ?? 0) + 1 };
    },
    offset({ line, column }) {
      starts ??= findLines(text);
      return (starts[line - 1] ?? 0) + column - 1;
    },
    quote({ start, end }) {
      const shown = slice(start, Math.min(end, start + MAX_QUOTED_CHARACTERS + 1));
      return showText(shown.split(/\r\n|\n|\r/, 1)[0], MAX_QUOTED_CHARACTERS);
    },
    excerpt({ start, end }) {
      const line = lineOf(start);
      const from = starts?.[line] ?? 0;
      const to = starts?.[line + 1] ?? text.length;
      // Of a long line, show only the part around the range. The text before it is read too, to recognise secrets by
      // their names.
      const left = start - from > MAX_EXCERPT_CHARACTERS - 40 ? start - 40 : from;
      const context = Math.max(from, left - MAX_EXCERPT_CHARACTERS);
      const shown = slice(context, Math.min(to, left + MAX_EXCERPT_CHARACTERS))
        .slice(left - context)
        .replace(/[\r\n]+$/, "");
      const before = show(shown.slice(0, start - left));
      const marked = show(shown.slice(start - left, end - left));
      const after = show(shown.slice(Math.max(end, start) - left)).trimEnd();
      return { text: `${before}${marked}${after}`, start: before.length, length: Math.max(1, marked.trimEnd().length) };
    },
    hide(range) {
      secrets.push(range);
    },
  };
}

const MAX_QUOTED_CHARACTERS = 80;
const MAX_EXCERPT_CHARACTERS = 160;

// A secret may also be under a misspelt key, or in a file that cannot be parsed.
const SECRET_BY_NAME =
  /((?:authorization|cookie|token|secret|password|passwd|api[-_]?key)["']?\s*:\s+)("[^"\r\n]*"?|'[^'\r\n]*'?|[^\s"'{[][^,}\r\n]*)/gi;
const SECRET_IN_URL = /(:\/\/)([^/@\s"']+)(?=@)/g;

function star(_: string, before: string, value: string): string {
  return before + "*".repeat(value.length);
}

function show(text: string): string {
  return showText(text.replaceAll("\t", " "), MAX_EXCERPT_CHARACTERS);
}

/** The offset of each line. YAML ends lines at LF, CRLF and CR. */
function findLines(text: string): number[] {
  const starts = [0];
  if (text.includes("\r")) {
    for (const match of text.matchAll(/\r\n|\n|\r/g)) starts.push(match.index + match[0].length);
  } else for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
