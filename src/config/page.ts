import type { RulePattern, Template } from "../rules/rule.ts";
import type { Field } from "../message/field.ts";
import type { Facts } from "./facts.ts";
import type { Flaw, Mistake, MistakeCode } from "./mistake.ts";
import type { ScalarNode } from "./node.ts";
import { openSource, type Range, type Source } from "./source.ts";

/** Returned by a reader that has reported a mistake. */
export const WRONG: unique symbol = Symbol("wrong");
export type Wrong = typeof WRONG;

/** The environment variables, for `${VAR}`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The engines that compile patterns and expressions. */
export interface Engines {
  /** Compiles a pattern, or says what is wrong with it. */
  readonly pattern: (source: string) => RulePattern | Problem;
  /** Returns a problem if a CEL expression is wrong; any other value means that it is valid. */
  readonly cel: (expression: string) => unknown;
}

/** Whether an engine returned a problem. */
export function isProblem(made: unknown): made is Problem {
  return typeof made === "object" && made !== null && "problem" in made;
}

/** What an engine says is wrong with a pattern or an expression. */
export interface Problem {
  readonly problem: string;
  /** The offset in the text, if known. */
  readonly at?: number | null;
}

/** A policy file while it is read: its text, its context, and the mistakes found so far. */
export interface Page {
  readonly source: Source;
  readonly env: Environment;
  readonly engines: Engines;
  readonly facts: Facts;
  /** The path of keys to the current value. A reader that adds a key must remove it afterwards. */
  readonly path: (string | number)[];
  /** The ids of rules, and the offset of each id's first use. */
  readonly ids: Map<string, number>;
  /** Parsed patterns, fields and templates by their text, because rules share them. */
  readonly patterns: Map<string, RulePattern | Flaw>;
  readonly fields: Map<string, Field | Flaw>;
  readonly templates: Map<string, Template | Flaw>;
  wrong(range: Range, code: MistakeCode, message: string, suggestion?: string | null): Wrong;
  /** Reports a flaw in the text of a scalar. */
  flawed(node: ScalarNode, flaw: Flaw): Wrong;
  warn(range: Range, code: MistakeCode, message: string, suggestion?: string | null): void;
  /** Whether so many mistakes were found that further ones are only counted. Costly checks can then be skipped. */
  isFull(): boolean;
  /** The name of the current value: its last key, with indices. */
  name(): string;
  /** The mistakes found, in the order of the file. */
  mistakes(): Mistake[];
  warnings(): Mistake[];
}

/** The context in which a policy file is read. */
export interface PageOptions {
  /** The name of the file in messages. */
  readonly file: string;
  readonly env: Environment;
  readonly engines: Engines;
  readonly facts?: Facts;
}

/** Starts reading a policy file. */
export function openPage(text: string, { file, env, engines, facts = {} }: PageOptions): Page {
  const source = openSource(text);
  const path: (string | number)[] = [];
  const found = { error: [] as Found[], warning: [] as Found[] };
  const known = new Set<string>();
  let beyond = 0;

  function add(severity: Mistake["severity"], range: Range, flaw: Omit<Flaw, "at" | "length">): void {
    if (known.size >= MAX_MISTAKES) {
      if (severity === "error") beyond++;
      return;
    }
    // The target of an alias is read once for each alias, so the same mistake can be found several times.
    const key = `${range.start} ${flaw.code} ${flaw.message}`;
    if (known.has(key)) return;
    known.add(key);
    found[severity].push({ range, flaw, path: showPath(path) });
  }

  function compose(severity: Mistake["severity"]): Mistake[] {
    const all = [...found[severity]];
    if (severity === "error" && beyond > 0) {
      const flaw: Found["flaw"] = {
        code: "too-many-mistakes",
        message: `There are ${beyond} more mistakes`,
        suggestion: "Fix these first",
      };
      all.push({ range: { start: text.length, end: text.length }, flaw, path: "" });
    }
    return all
      .sort((one, other) => one.range.start - other.range.start)
      .map(({ range, flaw: { code, message, suggestion }, path }) => {
        const { line, column } = source.place(range.start);
        const [text, excerpt] = [source.quote(range), source.excerpt(range)];
        return { severity, code, file, line, column, path, message, suggestion, text, excerpt };
      });
  }

  return {
    source,
    env,
    engines,
    facts,
    path,
    ids: new Map(),
    patterns: new Map(),
    fields: new Map(),
    templates: new Map(),
    wrong(range, code, message, suggestion = null) {
      add("error", range, { code, message, suggestion });
      return WRONG;
    },
    flawed(node, flaw) {
      add("error", locate(node, flaw), flaw);
      return WRONG;
    },
    warn(range, code, message, suggestion = null) {
      add("warning", range, { code, message, suggestion });
    },
    isFull: () => known.size >= MAX_MISTAKES,
    name() {
      const last = path.findLastIndex((step) => typeof step === "string");
      return last < 0 ? "the file" : showPath(path.slice(last));
    },
    mistakes: () => compose("error"),
    warnings: () => compose("warning"),
  };
}

interface Found {
  readonly range: Range;
  readonly flaw: Omit<Flaw, "at" | "length">;
  readonly path: string;
}

/** More mistakes than anybody fixes at once. */
const MAX_MISTAKES = 1000;

/** The range in the file of a flaw in a scalar's text. */
function locate(node: ScalarNode, { at, length }: Flaw): Range {
  if (!node.isVerbatim || typeof node.value !== "string") return node;
  const quote = (node.end - node.start - node.value.length) / 2;
  const start = node.start + quote + at;
  return { start, end: Math.min(start + Math.max(length, 1), node.end) };
}

/** Formats a path of keys and indices. */
function showPath(path: readonly (string | number)[]): string {
  let shown = "";
  for (const step of path) {
    if (typeof step === "number") shown += `[${step}]`;
    else if (/^[\w/-]+$/.test(step)) shown += shown === "" ? step : `.${step}`;
    else shown += `[${JSON.stringify(step.slice(0, 80))}]`;
  }
  return shown;
}
