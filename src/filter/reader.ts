import { type FilterNode, MAX_TERMS, type Span } from "./filter.ts";
import { createMistake, type FilterMistake } from "./mistake.ts";
import type { CompilePattern } from "./patterns.ts";

/** The kind of a token. */
export type TokenKind = "bracket" | "keyword" | "minus" | "field" | "operator" | "value" | "comma" | "pattern" | "text";

/** A token in the text of a filter. Between tokens there is only whitespace. */
export interface Token extends Span {
  readonly kind: TokenKind;
}

/** The state of parsing one filter: the text, the position, and what was found. */
export interface Reader {
  readonly text: string;
  at: number;
  /** How many more terms are allowed. */
  termsLeft: number;
  /** Whether a limit was reached and the rest was not read. What is missing then is not reported as a mistake. */
  hasGivenUp: boolean;
  readonly tokens: Token[];
  readonly mistakes: FilterMistake[];
  readonly patterns: CompilePattern | null;
}

/** Starts parsing a text. */
export function createReader(text: string, patterns: CompilePattern | null): Reader {
  return { text, at: 0, termsLeft: MAX_TERMS, hasGivenUp: false, tokens: [], mistakes: [], patterns };
}

/** Adds a token from `start` to the current position. */
export function note(reader: Reader, kind: TokenKind, start: number): void {
  if (reader.at > start) reader.tokens.push({ kind, start, end: reader.at });
}

/** Counts a term. If there are too many, the rest is not read. */
export function count<Node extends FilterNode>(reader: Reader, node: Node, terms = 1): Node | null {
  if (reader.termsLeft >= terms) {
    reader.termsLeft -= terms;
    return node;
  }
  giveUp(reader, node, `The filter has more than ${MAX_TERMS} terms`);
  return null;
}

/** Reports that a limit was reached, and skips the rest. */
export function giveUp(reader: Reader, at: Span, message: string): void {
  reader.mistakes.push(createMistake({ at }, message));
  reader.hasGivenUp = true;
  reader.at = reader.text.length;
}

/** Skips whitespace. */
export function skipSpace(reader: Reader): void {
  reader.at = matchEnd(SPACES, reader.text, reader.at);
}

/** The end of the bare text that begins at an offset. */
export function endOfBare(text: string, at: number): number {
  return matchEnd(BARE, text, at);
}

/** The offset of the next whitespace, or of a closing bracket before it that has no opening bracket after `at`. */
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

/** Whether a part may end here: at whitespace, a closing bracket or the end of the text. */
export function isBoundary(text: string, at: number): boolean {
  return at >= text.length || text[at] === ")" || isSpace(text, at);
}

/** Whether there is whitespace at an offset. */
export function isSpace(text: string, at: number): boolean {
  return matchEnd(SPACES, text, at) > at;
}

/** The end of the match of a sticky expression at an offset, or the offset itself without a match. */
export function matchEnd(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : at;
}

const SPACES = /\s+/y;
const NOT_SPACE = /\S+/y;
const BARE = /[^\s"(),]+/y;
