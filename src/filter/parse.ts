import { foreignWord } from "./foreign.ts";
import { type Filter, type FilterNode, MAX_DEPTH, MAX_FILTER_CHARACTERS, type Span } from "./filter.ts";
import { createMistake, type FilterMistake, show } from "./mistake.ts";
import { readPattern } from "./pattern-text.ts";
import type { CompilePattern } from "./patterns.ts";
import { missesSpace, needsQuotes, type Value } from "./values.ts";
import { quote, readQuoted } from "./quoted.ts";
import {
  count,
  createReader,
  endOfBare,
  giveUp,
  isBoundary,
  note,
  type Reader,
  skipSpace,
  type Token,
} from "./reader.ts";
import { starInText } from "./stars.ts";
import { readTerm } from "./term.ts";
import { findHead } from "./term-head.ts";

/** The result of parsing a filter. */
export interface Parsed {
  /** Null if there is a mistake. */
  readonly filter: Filter | null;
  /** All mistakes, in the order of the text. */
  readonly mistakes: readonly FilterMistake[];
  /** The tokens of the text in order, for colours and completion. They exist even if there are mistakes. */
  readonly tokens: readonly Token[];
}

/** Options of the parser. */
export interface ParseOptions {
  /** Checks patterns. Without it they are not checked; see `hasPattern`. */
  readonly patterns?: CompilePattern | undefined;
}

/** Parses a filter. Never throws, and takes linear time. */
export function parseFilter(text: string, { patterns }: ParseOptions = {}): Parsed {
  if (text.length > MAX_FILTER_CHARACTERS) {
    const at = { start: MAX_FILTER_CHARACTERS, end: text.length };
    const message = `The filter has ${text.length} characters: only ${MAX_FILTER_CHARACTERS} are read`;
    return { filter: null, mistakes: [createMistake({ at }, message)], tokens: [] };
  }
  const reader = createReader(text, patterns ?? null);
  skipSpace(reader);
  const root = reader.at === text.length ? empty(text) : readWhole(reader);
  const mistakes = reader.mistakes.toSorted((one, other) => one.start - other.start || one.end - other.end);
  return { filter: root === null || mistakes.length > 0 ? null : { text, root }, mistakes, tokens: reader.tokens };
}

function empty({ length }: string): FilterNode {
  return { kind: "all", of: [], start: length, end: length };
}

/** Reads the whole text. Text that is left after the filter begins with an unmatched closing bracket. */
function readWhole(reader: Reader): FilterNode | null {
  const root = readEither(reader, 0);
  while (reader.at < reader.text.length) {
    const start = reader.at++;
    note(reader, "bracket", start);
    const at = { start, end: reader.at };
    reader.mistakes.push(createMistake({ at, fix: { ...at, text: "" } }, "This ) was never opened"));
    skipSpace(reader);
    if (reader.at < reader.text.length) readEither(reader, 0);
  }
  return root;
}

/** Reads alternatives, separated by `or`. */
function readEither(reader: Reader, depth: number): FilterNode | null {
  const nodes = [readBoth(reader, depth, null)];
  for (let word = readKeyword(reader, "or"); word !== null; word = readKeyword(reader, "or")) {
    nodes.push(readBoth(reader, depth, word));
  }
  return join("any", nodes);
}

/** Reads parts that must all hold. `after` is the `or` before them. */
function readBoth(reader: Reader, depth: number, after: Span | null): FilterNode | null {
  const { text, mistakes } = reader;
  const nodes: (FilterNode | null)[] = [];
  let lonely = after;
  let isGood = true;
  for (;;) {
    skipSpace(reader);
    const { at } = reader;
    const isOver = at === text.length || text[at] === ")" || isKeyword(text, at, "or");
    if (isOver && lonely !== null) {
      mistakes.push(lonelyWord(text, lonely, "after"));
      isGood = false;
    }
    if (isOver && lonely === null && nodes.length === 0) {
      // Empty brackets are reported by `readBrackets`.
      if (isKeyword(text, at, "or")) mistakes.push(lonelyWord(text, { start: at, end: at + 2 }, "before"));
      isGood = false;
    }
    if (isOver) return isGood ? join("all", nodes) : null;
    const and = readKeyword(reader, "and");
    if (and !== null) {
      if (nodes.length === 0 || lonely !== null) {
        mistakes.push(lonelyWord(text, and, "before"));
        isGood = false;
      }
      lonely = and;
      continue;
    }
    lonely = null;
    nodes.push(readOne(reader, depth));
  }
}

function lonelyWord(text: string, word: Span, side: "before" | "after"): FilterMistake {
  // The fix also removes the space on one side of the word.
  const start = side === "after" ? text.slice(0, word.start).trimEnd().length : word.start;
  const rest = text.slice(word.end);
  const end = side === "before" ? text.length - rest.trimStart().length : word.end;
  const says = `Nothing ${side} ${text.slice(word.start, word.end)}`;
  return createMistake({ at: word, fix: { start, end, text: "" } }, says);
}

function join(kind: "all" | "any", nodes: readonly (FilterNode | null)[]): FilterNode | null {
  const good = nodes.filter((node) => node !== null);
  if (good.length < nodes.length || good.length === 0) return null;
  return good.length === 1 ? good[0] : { kind, of: good, start: good[0].start, end: good[good.length - 1].end };
}

function isKeyword(text: string, at: number, word: "or" | "and"): boolean {
  const end = at + word.length;
  return text.slice(at, end).toLowerCase() === word && endOfBare(text, at) === end && text[end] !== ",";
}

function readKeyword(reader: Reader, word: "or" | "and"): Span | null {
  const { at: start } = reader;
  if (!isKeyword(reader.text, start, word)) return null;
  reader.at += word.length;
  note(reader, "keyword", start);
  return { start, end: reader.at };
}

/** Reads one part, with or without a minus. Always consumes at least one character. */
function readOne(reader: Reader, depth: number): FilterNode | null {
  const { text, at: start, mistakes } = reader;
  if (text[start] !== "-") return readPrimary(reader, depth);
  reader.at++;
  note(reader, "minus", start);
  if (isBoundary(text, reader.at)) {
    const at = { start, end: reader.at };
    mistakes.push(createMistake({ at, fix: { ...at, text: "" } }, "Nothing after -"));
    return null;
  }
  if (text[reader.at] === "-") {
    // Nobody negates twice: `--force` is a command-line option that is searched for as text.
    reader.at = endOfBare(text, start);
    const at = { start, end: reader.at };
    const quoted = quote(text.slice(start, reader.at));
    mistakes.push(createMistake({ at, fix: { ...at, text: quoted } }, "To look for this text, write ", quoted));
    return null;
  }
  const node = readPrimary(reader, depth);
  return node === null ? null : { kind: "not", of: node, start, end: node.end };
}

function readPrimary(reader: Reader, depth: number): FilterNode | null {
  const { text, at: start } = reader;
  if (text[start] === "(") return readBrackets(reader, depth);
  if (text[start] === '"') {
    const value = readQuoted(reader, "text");
    if (!isBoundary(text, reader.at) && text[reader.at] !== "(") missesSpace(reader);
    return shown(reader, value, start);
  }
  if (text.startsWith("~/", start)) {
    reader.at++;
    note(reader, "operator", start);
    const pattern = readPattern(reader);
    const field = { name: "shown", path: [] } as const;
    return pattern && count(reader, { kind: "matches", field, ...pattern, start, end: reader.at });
  }
  const head = findHead(text, start);
  if (head !== null) return readTerm(reader, head);
  reader.at = endOfBare(text, start);
  note(reader, "text", start);
  const word: Value = { start, end: reader.at, text: text.slice(start, reader.at), isBare: true };
  const isAtEnd = isBoundary(text, reader.at);
  if ((isAtEnd || text[reader.at] === "(") && foreignWord(reader, word)) return null;
  if (!isAtEnd) {
    needsQuotes(reader, start);
    return null;
  }
  if (starInText(reader, word)) return null;
  return shown(reader, word.text, start);
}

function shown(reader: Reader, value: string, start: number): FilterNode | null {
  return count(reader, {
    kind: "contains",
    field: { name: "shown", path: [] },
    values: [value],
    start,
    end: reader.at,
  });
}

function readBrackets(reader: Reader, depth: number): FilterNode | null {
  const { text, at: start, mistakes } = reader;
  const at = { start, end: start + 1 };
  if (depth === MAX_DEPTH) {
    giveUp(reader, at, `Brackets are nested more than ${MAX_DEPTH} deep`);
    return null;
  }
  reader.at++;
  note(reader, "bracket", start);
  const before = mistakes.length;
  const node = readEither(reader, depth + 1);
  const close = reader.at;
  if (text[close] === ")") {
    reader.at++;
    note(reader, "bracket", close);
    if (node === null && mistakes.length === before) {
      const all = { start, end: reader.at };
      mistakes.push(
        createMistake({ at: all, fix: { ...all, text: "" } }, `Nothing in ${show(text.slice(start, reader.at))}`),
      );
    }
    return node === null ? null : { ...node, start, end: reader.at };
  }
  const fix = { start: close, end: close, text: ")" };
  if (!reader.hasGivenUp) mistakes.push(createMistake({ at, fix }, "This ( is never closed"));
  return null;
}
