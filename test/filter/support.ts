import type { Filter, FilterNode } from "../../src/filter/filter.ts";
import { parseFilter } from "../../src/filter/parse.ts";
import { type FilterRow, textAt } from "../../src/filter/row.ts";
import { loadPatterns } from "../../src/policy/rules/patterns.ts";

/** The engine that rules use. */
export const patterns = await loadPatterns();

/** A filter that is known to be good. */
export function filterOf(text: string): Filter {
  const { filter, mistakes } = parseFilter(text, { patterns });
  if (filter === null) throw new Error(`${text}: ${mistakes.map(({ message }) => message).join("; ")}`);
  return filter;
}

/** A part of a filter without its places. */
export function plain(node: FilterNode): unknown {
  return JSON.parse(
    JSON.stringify(node, (key, value: unknown) => (key === "start" || key === "end" ? undefined : value)),
  );
}

/** A row as tests write it. What is left out, the row does not have; what is undefined, nobody knows. */
export interface Row {
  readonly [field: string]: unknown;
  readonly shown?: string | null | undefined;
  /** The arguments and the result. Undefined where the bytes were not kept. */
  readonly args?: unknown;
  readonly answer?: unknown;
  readonly states?: readonly string[];
  /** States of which nobody knows whether it is in them. */
  readonly unclear?: readonly string[];
}

/** Looks at such a row. */
export function viewRow(row: Row): FilterRow {
  const read = (name: string): never => (name in row ? row[name] : null) as never;
  const body = (name: string, path: readonly (string | number)[]): string | null | undefined =>
    name in row && row[name] === undefined ? undefined : textAt(row[name], path);
  return {
    text: read,
    word: read,
    amount: read,
    shown: () => read("shown"),
    is: (state) => (row.unclear?.includes(state) === true ? undefined : row.states?.includes(state) === true),
    body(part, path) {
      if (part !== "text") return body(part === "arg" ? "args" : "answer", path);
      const [args, answer] = [body("args", []), body("answer", [])];
      return args === undefined || answer === undefined ? undefined : `${args ?? ""}\n${answer ?? ""}`;
    },
  };
}
