import { type FieldDefinition, findField } from "./fields.ts";
import { matchEnd } from "./reader.ts";

/** The beginning of a term: a field and an operator. */
export interface TermHead {
  readonly start: number;
  /** The end of the field's name; a path may follow. */
  readonly nameEnd: number;
  readonly fieldEnd: number;
  readonly name: string;
  /** Undefined if there is no field with this name. */
  readonly field: FieldDefinition | undefined;
  readonly operator: Operator;
  readonly valueStart: number;
}

/** An operator after a field. `==` is accepted here only to suggest `=`. */
export type Operator = ":" | "=" | "==" | "!=" | ">" | ">=" | "<" | "<=" | "~";

/**
 * Finds the beginning of a term at an offset: a name, an optional path and an operator. Null for a bare word or
 * nothing.
 */
export function findHead(text: string, start: number): TermHead | null {
  const nameEnd = matchEnd(NAME, text, start);
  if (nameEnd === start) return null;
  const fieldEnd = endOfPath(text, nameEnd);
  const name = text.slice(start, nameEnd);
  const field = findField(name);
  // After a word that is not a field, `~` is an operator only if a pattern follows: `foo~bar` is a bare word.
  const operators = field === undefined ? STRICT_OPERATOR : OPERATOR;
  const valueStart = matchEnd(operators, text, fieldEnd);
  if (valueStart === fieldEnd) return null;
  const operator = text.slice(fieldEnd, valueStart) as Operator;
  return { start, nameEnd, fieldEnd, name, field, operator, valueStart };
}

const NAME = /[A-Za-z_][\w-]*/y;
const OPERATOR = /!=|>=|<=|==?|[:<>~]/y;
const STRICT_OPERATOR = /!=|>=|<=|==?|[:<>]|~(?=\/)/y;

/** The end of the path after a name. The path itself is parsed by `readPath`, as for rules. */
function endOfPath(text: string, start: number): number {
  let at = start;
  for (;;) {
    const end = matchEnd(STEP, text, at);
    if (end === at) return at;
    at = end;
  }
}

// A dot with a name, a quoted name or a JSON Pointer; or brackets with an index or a quoted name. An operator ends a
// name, so a key that contains one must be quoted.
const QUOTED = String.raw`"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'`;
const KEY = String.raw`[^\s.[\]"'(),:=<>~!/]`;
const STEP = new RegExp(
  String.raw`\.(?:/(?:${KEY}|/|~[01]|\.)*|${KEY}(?:${KEY}|/)*|${QUOTED}|(?=\.))|\[(?:${QUOTED}|[^\s"'[\](),]*)\]`,
  "y",
);
