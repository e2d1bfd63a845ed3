import { boundsOf, momentOf } from "./bounds.ts";
import { type FieldRef, type Filter, type FilterNode, type FilterTerm, topLevel } from "./filter.ts";
import { hasNoCase, isAscii } from "./letters.ts";
import { printNode } from "./print.ts";

/** The SQL expression for a field. It is NULL if the row does not have the value. */
export interface SqlColumn {
  readonly sql: string;
  /** An SQL expression that is true if the value is known. Without it, the value is always known. */
  readonly known?: string | undefined;
}

/**
 * Returns the column for a field, or null if there is none. A bare word has the name `shown`; a state has a name such
 * as `is:refused`, and its expression is true or false. Text columns must compare by bytes (BINARY, the default). The
 * returned text is inserted into the SQL unescaped, so it must not come from user input.
 */
export type FindColumn = (name: FieldRef["name"] | `is:${string}`, path: FieldRef["path"]) => SqlColumn | string | null;

/** The part of a filter that SQLite can evaluate. */
export interface SqlFilter {
  /** The expression for WHERE. It holds for every row that matches and, if `rest` is null, for no other. */
  readonly where: string;
  readonly parameters: readonly (string | number)[];
  /** The filter that must still be applied to the rows that SQLite returns; null if there is none. */
  readonly rest: Filter | null;
}

/** Options of the conversion to SQL. */
export interface SqlOptions {
  readonly now: number;
  /**
   * Makes an expression that is 1, 0 or NULL exactly if the filter says yes, no or unknown, so that rows that cannot be
   * judged can be counted, as long as `rest` is null. Without it, no and unknown are not distinguished, and SQLite can
   * use an index on a column.
   */
  readonly exact?: boolean;
}

/** Splits a filter into the part that SQLite evaluates with the same result, and the rest. */
export function toSql(filter: Filter, column: FindColumn, options: SqlOptions): SqlFilter {
  const context: Context = { column, now: options.now, isExact: options.exact === true };
  const pieces: Piece[] = [];
  const rest: FilterNode[] = [];
  for (const part of topLevel(filter)) {
    const piece = translate(context, part, false);
    // An expression that also holds for other rows is not exact.
    if (piece !== null && (piece.isWhole || !context.isExact)) pieces.push(piece);
    if (piece?.isWhole !== true) rest.push(part);
  }
  const all = pieces.length === 0 ? { sql: "1", parameters: [] } : join("AND", pieces);
  return { where: all.sql, parameters: all.parameters, rest: restOf(rest) };
}

function restOf(parts: readonly FilterNode[]): Filter | null {
  if (parts.length === 0) return null;
  const [first] = parts;
  const root: FilterNode = parts.length === 1 ? first : { kind: "all", of: parts, start: 0, end: 0 };
  return { text: printNode(root), root };
}

interface Context {
  readonly column: FindColumn;
  readonly now: number;
  readonly isExact: boolean;
}

interface Piece {
  readonly sql: string;
  readonly parameters: readonly (string | number)[];
  /** Whether it is equivalent to its part of the filter. Otherwise it also holds for rows that do not match. */
  readonly isWhole: boolean;
}

/**
 * The SQL for a part of a filter or for its negation; null if there is none. Negations are moved inwards to the terms,
 * so that a part that is left out can only make the expression hold for more rows, never for fewer. NULL in SQLite
 * stands for unknown: NOT, AND and OR treat it the same way.
 */
function translate(context: Context, node: FilterNode, isNegated: boolean): Piece | null {
  if (!("of" in node)) return translateTerm(context, node, isNegated);
  if (node.kind === "not") return translate(context, node.of, !isNegated);
  const pieces = node.of.map((each) => translate(context, each, isNegated));
  const known = pieces.filter((piece) => piece !== null);
  if ((node.kind === "all") === !isNegated) {
    if (known.length === 0) return node.of.length === 0 ? { sql: "1", parameters: [], isWhole: true } : null;
    return { ...join("AND", known), isWhole: known.length === pieces.length && known.every(({ isWhole }) => isWhole) };
  }
  if (known.length < pieces.length || known.length === 0) return null;
  return { ...join("OR", known), isWhole: known.every(({ isWhole }) => isWhole) };
}

function join(word: "AND" | "OR", pieces: readonly Omit<Piece, "isWhole">[]): Omit<Piece, "isWhole"> {
  const parameters = pieces.flatMap((piece) => piece.parameters);
  if (pieces.length === 1) return { sql: pieces[0].sql, parameters };
  return { sql: `(${pieces.map(({ sql }) => sql).join(` ${word} `)})`, parameters };
}

function translateTerm(context: Context, term: FilterTerm, isNegated: boolean): Piece | null {
  if (term.field.name === "is") return translateStates(context, term, isNegated);
  const found = context.column(term.field.name, term.field.path);
  if (found === null) return null;
  const { sql, known } = typeof found === "string" ? { sql: found, known: undefined } : found;
  const test = testOf(context, term, `(${sql})`);
  if (test === null) return null;
  const isNeverNull = term.kind === "exists";
  return { ...finish(context, test.sql, { known, isNeverNull, isNegated }), parameters: test.parameters };
}

/** Wraps a test that is NULL if the row has no value, so that it is false instead. */
function finish(
  { isExact }: Context,
  sql: string,
  { known, isNeverNull, isNegated }: { known: string | undefined; isNeverNull: boolean; isNegated: boolean },
): { sql: string; isWhole: true } {
  const definite = isNeverNull || (!isNegated && !isExact) ? sql : `coalesce(${sql}, 0)`;
  const turned = isNegated ? `NOT ${definite}` : definite;
  return { sql: known === undefined ? turned : `CASE WHEN (${known}) THEN ${turned} END`, isWhole: true };
}

type Test = Omit<Piece, "isWhole"> | null;

function testOf({ now }: Context, term: FilterTerm, column: string): Test {
  switch (term.kind) {
    case "contains": {
      const tests = term.values.map((value) => contains(column, value));
      return tests.every((test) => test !== null) ? join("OR", tests) : null;
    }
    case "equals":
      return term.values.every(canBeBound) ? oneOf(column, term.values) : null;
    // SQLite does not support RE2 syntax.
    case "matches":
      return null;
    case "exists":
      return { sql: `(${column} IS NOT NULL)`, parameters: [] };
    case "word":
      return oneOf(column, term.words);
    case "within": {
      const tests = term.ranges.map((range) => {
        const { low, high, closed } = boundsOf(range, now);
        return { sql: `(${column} >= ? AND ${column} ${closed ? "<=" : "<"} ?)`, parameters: [low, high] };
      });
      return join("OR", tests);
    }
    case "compare":
      return { sql: `(${column} ${term.operator} ?)`, parameters: [momentOf(term.amount, now)] };
  }
}

function oneOf(column: string, values: readonly string[]): Test {
  const sql = values.length === 1 ? `(${column} = ?)` : `(${column} IN (${values.map(() => "?").join(", ")}))`;
  return { sql, parameters: values };
}

/** A text search regardless of letter case. SQLite handles the case of ASCII letters only. */
function contains(column: string, value: string): Test {
  if (value === "") return { sql: `(${column} IS NOT NULL)`, parameters: [] };
  if (!canBeBound(value)) return null;
  if (hasNoCase(value)) return { sql: `(instr(${column}, ?) > 0)`, parameters: [value] };
  if (!isAscii(value)) return null;
  return { sql: `(instr(lower(${column}), ?) > 0)`, parameters: [value.toLowerCase()] };
}

/** Whether SQLite receives the text unchanged. A lone surrogate would become another character. */
function canBeBound(value: string): boolean {
  return value.isWellFormed() && !value.includes("\0");
}

function translateStates(context: Context, term: FilterTerm, isNegated: boolean): Piece | null {
  if (term.kind !== "word") return null;
  const pieces = term.words.map((word): Piece | null => {
    const found = context.column(`is:${word}`, []);
    if (found === null) return null;
    const { sql, known } = typeof found === "string" ? { sql: found, known: undefined } : found;
    return { ...finish(context, `(${sql})`, { known, isNeverNull: false, isNegated }), parameters: [] };
  });
  const all = pieces.filter((piece) => piece !== null);
  if (isNegated ? all.length === 0 : all.length < pieces.length) return null;
  return { ...join(isNegated ? "AND" : "OR", all), isWhole: all.length === pieces.length };
}
