import { type FilterNode, MAX_TERMS, type Span } from "./filter.ts";
import { createMistake, type FilterMistake } from "./mistake.ts";
import type { CompilePattern } from "./patterns.ts";

/** What a piece of a filter is. */
export type TokenKind = "bracket" | "keyword" | "minus" | "field" | "operator" | "value" | "comma" | "pattern" | "text";

/** A piece of the text of a filter. What is between pieces is space. */
export interface Token extends Span {
  readonly kind: TokenKind;
}

/** The reading of one filter: the text, how far it has been read, and what has been found. */
export interface Reader {
  readonly text: string;
  at: number;
  /** How many terms there may still be. */
  termsLeft: number;
  /** Whether there was too much, and the rest was not read: what is missing then is not a mistake. */
  hasGivenUp: boolean;
  readonly tokens: Token[];
  readonly mistakes: FilterMistake[];
  readonly patterns: CompilePattern | null;
}

/** Begins to read. */
export function createReader(text: string, patterns: CompilePattern | null): Reader {
  return { text, at: 0, termsLeft: MAX_TERMS, hasGivenUp: false, tokens: [], mistakes: [], patterns };
}

/** Notes a piece that begins at `start` and ends where the reader stands. */
export function note(reader: Reader, kind: TokenKind, start: number): void {
  if (reader.at > start) reader.tokens.push({ kind, start, end: reader.at });
}

/** Counts a term. Where there are too many, the rest is not read. */
export function count<Node extends FilterNode>(reader: Reader, node: Node, terms = 1): Node | null {
  if (reader.termsLeft >= terms) {
    reader.termsLeft -= terms;
    return node;
  }
  giveUp(reader, node, `The filter has more than ${MAX_TERMS} terms`);
  return null;
}

/** Says that there is too much, and does not read the rest. */
export function giveUp(reader: Reader, at: Span, message: string): void {
  reader.mistakes.push(createMistake({ at }, message));
  reader.hasGivenUp = true;
  reader.at = reader.text.length;
}

/** Goes on behind what is space here. */
export function skipSpace(reader: Reader): void {
  reader.at = matchEnd(SPACES, reader.text, reader.at);
}

/** Where the bare text ends that begins here. */
export function endOfBare(text: string, at: number): number {
  return matchEnd(BARE, text, at);
}

/** Where the next space is. Brackets at the end that were not opened in between belong to what is around it. */
export function endOfRun(text: string, at: number): number {
  let end = matchEnd(NOT_SPACE, text, at);
  let open = 0;
  for (let each = at; each < end; each++) {
    if (text[each] === "(") open++;
    else if (text[each] === ")" && --open < 0) {
      end = each;
      break;
    }
  }
  return end;
}

/** Whether what was read so far may end here: at a space, a closing bracket or the end. */
export function isBoundary(text: string, at: number): boolean {
  return at >= text.length || text[at] === ")" || isSpace(text, at);
}

/** Whether a space is here. */
export function isSpace(text: string, at: number): boolean {
  return matchEnd(SPACES, text, at) > at;
}

/** Where a match of this sticky expression ends that begins here. */
export function matchEnd(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : at;
}

const SPACES = /\s+/y;
const NOT_SPACE = /\S+/y;
const BARE = /[^\s"(),]+/y;
