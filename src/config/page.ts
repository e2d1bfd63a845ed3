import type { RulePattern, Template } from "../rules/rule.ts";
import type { Field } from "../message/field.ts";
import type { Facts } from "./facts.ts";
import type { Flaw, Mistake, MistakeCode } from "./mistake.ts";
import type { ScalarNode } from "./node.ts";
import { openSource, type Range, type Source } from "./source.ts";

/** What reading returns where it found a mistake and said so. */
export const WRONG: unique symbol = Symbol("wrong");
export type Wrong = typeof WRONG;

/** The environment, for `${VAR}`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What is needed to read patterns and expressions: the engines that will run them. */
export interface Engines {
  /** Makes a pattern of its source, or says what is wrong with it. */
  readonly pattern: (source: string) => RulePattern | Problem;
  /** Says what is wrong with an expression in CEL; anything else is right. */
  readonly cel: (expression: string) => unknown;
}

/** Whether an engine has something to say against what it was given. */
export function isProblem(made: unknown): made is Problem {
  return typeof made === "object" && made !== null && "problem" in made;
}

/** What an engine has to say against something. */
export interface Problem {
  readonly problem: string;
  /** Where in it, if that can be told. */
  readonly at?: number | null;
}

/** A file that is being read: what is known of it, and what was found to be wrong. */
export interface Page {
  readonly source: Source;
  readonly env: Environment;
  readonly engines: Engines;
  readonly facts: Facts;
  /** The keys that lead to where the reader is. Whoever goes in comes out again. */
  readonly path: (string | number)[];
  /** The ids of rules, and where each is for the first time. */
  readonly ids: Map<string, number>;
  /** What rules have in common need not be taken apart for each. */
  readonly patterns: Map<string, RulePattern | Flaw>;
  readonly fields: Map<string, Field | Flaw>;
  readonly templates: Map<string, Template | Flaw>;
  wrong(range: Range, code: MistakeCode, message: string, suggestion?: string | null): Wrong;
  /** A flaw in the text of a scalar. */
  flawed(node: ScalarNode, flaw: Flaw): Wrong;
  warn(range: Range, code: MistakeCode, message: string, suggestion?: string | null): void;
  /** Whether so much is wrong that more is only counted: nothing that takes time is worth finding out about it. */
  isFull(): boolean;
  /** How the value that is being read is called: the last key, with its indices. */
  name(): string;
  /** What was found, in the order of the file. */
  mistakes(): Mistake[];
  warnings(): Mistake[];
}

/** What is known about a file beside its text. */
export interface PageOptions {
  /** How it is called in messages. */
  readonly file: string;
  readonly env: Environment;
  readonly engines: Engines;
  readonly facts?: Facts;
}

/** Begins to read a file. */
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
    // What an alias refers to is read wherever it is referred to.
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

/** More than anybody mends in one go. */
const MAX_MISTAKES = 1000;

/** Where a flaw of a scalar's text is in the file. */
function locate(node: ScalarNode, { at, length }: Flaw): Range {
  if (!node.isVerbatim || typeof node.value !== "string") return node;
  const quote = (node.end - node.start - node.value.length) / 2;
  const start = node.start + quote + at;
  return { start, end: Math.min(start + Math.max(length, 1), node.end) };
}

/** Keys and indices as people write them. */
function showPath(path: readonly (string | number)[]): string {
  let shown = "";
  for (const step of path) {
    if (typeof step === "number") shown += `[${step}]`;
    else if (/^[\w/-]+$/.test(step)) shown += shown === "" ? step : `.${step}`;
    else shown += `[${JSON.stringify(step.slice(0, 80))}]`;
  }
  return shown;
}
