import { createMistake } from "./mistake.ts";
import { explainPattern, isPattern } from "./patterns.ts";
import { endOfRun, isBoundary, matchEnd, note, type Reader } from "./reader.ts";

/** A pattern in a filter, written between slashes. */
export interface PatternText {
  readonly source: string;
  readonly ignoreCase: boolean;
}

/** Reads the pattern that begins with the slash at the current position; null if it has a mistake. */
export function readPattern(reader: Reader): PatternText | null {
  const { text, at: start } = reader;
  const slash = endOfPattern(text, start + 1);
  if (slash === null) {
    reader.at = text.length;
    note(reader, "pattern", start);
    const fix = { start: text.length, end: text.length, text: text.endsWith("\\") ? "\\/" : "/" };
    reader.mistakes.push(createMistake({ at: { start, end: start + 1 }, fix }, "This / is never closed"));
    return null;
  }
  const flags = text.slice(slash + 1, matchEnd(LETTERS, text, slash + 1));
  const isAtEnd = isBoundary(text, slash + 1 + flags.length);
  if (!isAtEnd || !FLAGS.test(flags)) return unescapedSlash(reader, start, slash);
  reader.at = slash + 1 + flags.length;
  note(reader, "pattern", start);
  if (flags !== "" && flags !== "i") {
    const at = { start: slash + 1, end: reader.at };
    const fix = { ...at, text: flags.includes("i") ? "i" : "" };
    reader.mistakes.push(createMistake({ at, fix }, `Only i may follow a pattern, not ${flags}`));
    return null;
  }
  const source = readSource(text.slice(start + 1, slash));
  const made = reader.patterns?.(source);
  if (made !== undefined && !isPattern(made)) {
    reader.mistakes.push(explainPattern(source, made.problem, start + 1));
    return null;
  }
  return { source, ignoreCase: flags === "i" };
}

/** A pattern in the syntax of filters. */
export function printPattern({ source, ignoreCase }: PatternText): string {
  return `/${escapeSlashes(source)}/${ignoreCase ? "i" : ""}`;
}

const LETTERS = /[A-Za-z]+/y;

// Flags of patterns in other languages. Any other letters are part of a path whose slash was not escaped.
const FLAGS = /^[dgimsuvxy]{0,3}$/;

/** The offset of the slash that ends a pattern, or null. A slash after a backslash is part of the pattern. */
function endOfPattern(text: string, start: number): number | null {
  for (let at = start; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "/") return at;
  }
  return null;
}

/** Reports an unescaped slash inside a pattern, as in `~/^/etc/`. */
function unescapedSlash(reader: Reader, start: number, slash: number): null {
  const { text } = reader;
  const end = endOfRun(text, slash);
  reader.at = end;
  note(reader, "pattern", start);
  const [, inner, closing] = /^([^]*?)(\/i?)?$/.exec(text.slice(start + 1, end)) ?? ["", "", ""];
  const mended = `/${escapeSlashes(inner)}${closing ?? "/"}`;
  const fix = { start, end, text: mended };
  reader.mistakes.push(
    createMistake(
      { at: { start: slash, end: slash + 1 }, fix },
      "A / in a pattern stands behind a \\. Did you mean ",
      mended,
      "?",
    ),
  );
  return null;
}

function escapeSlashes(source: string): string {
  return source.replaceAll(/\\[^]|\//g, (piece) => (piece === "/" ? "\\/" : piece));
}

function readSource(written: string): string {
  return written.replaceAll(/\\[^]/g, (piece) => (piece === "\\/" ? "/" : piece));
}
