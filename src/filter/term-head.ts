import { type FieldDefinition, findField } from "./fields.ts";
import { matchEnd } from "./reader.ts";

/** The beginning of a term: a field and an operator. */
export interface TermHead {
  readonly start: number;
  /** Where the name of the field ends; a path may follow. */
  readonly nameEnd: number;
  readonly fieldEnd: number;
  readonly name: string;
  /** Undefined where no field has this name. */
  readonly field: FieldDefinition | undefined;
  readonly operator: Operator;
  readonly valueStart: number;
}

/** What may follow a field. `==` is what people write who mean `=`. */
export type Operator = ":" | "=" | "==" | "!=" | ">" | ">=" | "<" | "<=" | "~";

/** Whether a term begins here: a name, perhaps a path, and an operator. Otherwise it is a bare word, or nothing. */
export function findHead(text: string, start: number): TermHead | null {
  const nameEnd = matchEnd(NAME, text, start);
  if (nameEnd === start) return null;
  const fieldEnd = endOfPath(text, nameEnd);
  const name = text.slice(start, nameEnd);
  const field = findField(name);
  // Behind a word that is not a field, a ~ is an operator only where a pattern follows: `foo~bar` is a bare word.
  const operators = field === undefined ? STRICT_OPERATOR : OPERATOR;
  const valueStart = matchEnd(operators, text, fieldEnd);
  if (valueStart === fieldEnd) return null;
  const operator = text.slice(fieldEnd, valueStart) as Operator;
  return { start, nameEnd, fieldEnd, name, field, operator, valueStart };
}

const NAME = /[A-Za-z_][\w-]*/y;
const OPERATOR = /!=|>=|<=|==?|[:<>~]/y;
const STRICT_OPERATOR = /!=|>=|<=|==?|[:<>]|~(?=\/)/y;

/** Where the path ends that follows a name. What it says is read by whoever reads the paths of rules. */
function endOfPath(text: string, start: number): number {
  let at = start;
  for (;;) {
    const end = matchEnd(STEP, text, at);
    if (end === at) return at;
    at = end;
  }
}

// A dot and a name, a quoted name or a JSON Pointer; or brackets with an index or a quoted name in them.
// An operator ends a name: a key with one in it is quoted.
const QUOTED = String.raw`"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'`;
const KEY = String.raw`[^\s.[\]"'(),:=<>~!/]`;
const STEP = new RegExp(
  String.raw`\.(?:/(?:${KEY}|/|~[01]|\.)*|${KEY}(?:${KEY}|/)*|${QUOTED}|(?=\.))|\[(?:${QUOTED}|[^\s"'[\](),]*)\]`,
  "y",
);
