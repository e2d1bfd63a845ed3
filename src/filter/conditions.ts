import type { Steps } from "../text/path.ts";
import { type Filter, type FilterNode, type FilterTerm, topLevel } from "./filter.ts";
import { ignoringCase } from "./patterns.ts";
import { printNode } from "./print.ts";

/** A condition of a rule, as written in a policy file. */
export interface RuleCondition {
  readonly [name: string]: unknown;
}

/** A filter converted to the conditions of a rule. */
export interface FilterConditions {
  readonly conditions: readonly RuleCondition[];
  /** The parts of the filter that cannot be converted, and why. Without them the rule matches more messages. */
  readonly left: readonly { readonly part: FilterNode; readonly text: string; readonly why: string }[];
  /** Differences between a condition and the filter. */
  readonly notes: readonly { readonly part: FilterNode; readonly text: string }[];
}

/** Converts a filter to the conditions of a rule, as far as possible. */
export function toConditions(filter: Filter): FilterConditions {
  const conditions: RuleCondition[] = [];
  const left: FilterConditions["left"][number][] = [];
  const notes: FilterConditions["notes"][number][] = [];
  for (const part of topLevel(filter)) {
    const own: FilterConditions["notes"][number][] = [];
    const made = convert(part, own);
    if (typeof made === "string") left.push({ part, text: printNode(part), why: made });
    else {
      conditions.push(made);
      notes.push(...own);
    }
  }
  return { conditions, left, notes };
}

type Notes = FilterConditions["notes"][number][];

/** The condition for a part, or why there is none. */
function convert(node: FilterNode, notes: Notes): RuleCondition | string {
  if (!("of" in node)) return convertTerm(node, notes);
  if (node.kind === "not") {
    const made = convert(node.of, notes);
    return typeof made === "string" ? made : { not: made };
  }
  const made = node.of.map((each) => convert(each, notes));
  const missing = made.find((each) => typeof each === "string");
  return missing ?? { [node.kind]: made };
}

function convertTerm(term: FilterTerm, notes: Notes): RuleCondition | string {
  switch (term.field.name) {
    case "method":
      if (term.kind === "equals" && !term.values.includes("")) return oneOf(term.values, "method_equals", "method_in");
      return { method_matches: patternOf(term) };
    case "tool":
    case "client":
    case "identity":
      return { [`${term.field.name}_matches`]: patternOf(term) };
    case "session":
      if (term.kind !== "equals") return "rules compare the whole id of a session: write session=";
      if (term.values.includes("")) return EMPTY;
      return anyOf(term.values.map((id) => ({ session_id_equals: id })));
    case "arg":
      return onBody("param", ["arguments", ...term.field.path], term, notes);
    case "result":
      if (term.field.path.length === 0) return "rules look at one place of a result: write result.<path>";
      return onBody("result", term.field.path, term, notes);
    case "dir":
      return anyOf((term.kind === "word" ? term.words : ["up", "down"]).map((direction) => ({ direction })));
    case "code":
      return onCode(term);
    case "error":
      return onError(term, notes);
    case "shown":
      return "rules do not look at what a row shows";
    case "server":
    case "process":
    case "rule":
    case "note":
    case "id":
    case "text":
    case "kind":
    case "class":
    case "verdict":
    case "is":
    case "latency":
    case "held":
    case "bytes":
    case "sent":
    case "score":
    case "time":
      return `rules have no condition for ${term.field.name}`;
  }
}

// A policy file refuses an empty text, because it is mostly a forgotten value.
const EMPTY = "rules do not look for an empty text";

function anyOf(conditions: readonly RuleCondition[]): RuleCondition {
  return conditions.length === 1 ? conditions[0] : { any: conditions };
}

function oneOf(values: readonly string[], single: string, several: string): RuleCondition {
  return values.length === 1 ? { [single]: values[0] } : { [several]: values };
}

/** The pattern that matches the same texts as a term. */
function patternOf(term: FilterTerm): string {
  switch (term.kind) {
    case "matches":
      return term.ignoreCase ? ignoringCase(term.source) : term.source || "^";
    case "contains": {
      if (term.values.includes("")) return "^";
      const wanted = alternatives(term.values);
      return term.values.every((value) => value.toLowerCase() === value.toUpperCase()) ? wanted : ignoringCase(wanted);
    }
    case "equals":
      return `^${term.values.length === 1 ? escapePattern(term.values[0]) : `(?:${alternatives(term.values)})`}$`;
    // Of these, only `exists` occurs with a text field, and it matches any text.
    case "exists":
    case "word":
    case "within":
    case "compare":
      return "^";
  }
}

function alternatives(values: readonly string[]): string {
  return values.map(escapePattern).join("|");
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

function onBody(root: "param" | "result", path: Steps, term: FilterTerm, notes: Notes): RuleCondition | string {
  const field = printRulePath(path);
  if (term.kind === "exists") return { [`${root}_exists`]: field };
  if (term.kind === "equals") {
    const values = term.values.flatMap(jsonValues);
    if (root === "result") return anyOf(values.map((value) => ({ result_equals: { field, value } })));
    return values.length === 1 ? { param_equals: { field, value: values[0] } } : { param_in: { field, values } };
  }
  notes.push({ part: term, text: `${field} is searched only where it is a text` });
  return { [`${root}_matches`]: { field, pattern: patternOf(term) } };
}

/** The JSON values that a text may stand for: a filter compares values as text, a rule compares them by type. */
function jsonValues(text: string): unknown[] {
  if (text === "true" || text === "false" || text === "null") return [text, JSON.parse(text)];
  const number = Number(text);
  return text !== "" && Number.isFinite(number) && String(number) === text ? [text, number] : [text];
}

function onCode(term: FilterTerm): RuleCondition | string {
  const codes =
    term.kind === "within"
      ? term.ranges.map(({ from, to }) => (to === null && from.kind === "number" && from.step === 1 ? from.value : NaN))
      : [NaN];
  if (codes.some(Number.isNaN)) return "rules compare the code of an error with one number";
  return anyOf(codes.map((code) => ({ error_code_equals: code })));
}

function onError(term: FilterTerm, notes: Notes): RuleCondition | string {
  if (term.kind !== "contains") return "rules look for a text in the message of an error: write error:";
  if (term.values.includes("")) return EMPTY;
  if (term.values.some((value) => value.toLowerCase() !== value.toUpperCase()))
    notes.push({ part: term, text: "rules look for the message of an error with its capital and small letters" });
  return anyOf(term.values.map((text) => ({ error_message_contains: text })));
}

/** A path in the syntax of policy files. */
function printRulePath(path: Steps): string {
  return path
    .map((step, nth) => {
      if (typeof step === "number") return `[${step}]`;
      if (!/^[A-Za-z_][\w-]*$/.test(step)) return `["${step.replaceAll(/["\\]/g, String.raw`\$&`)}"]`;
      return nth === 0 ? step : `.${step}`;
    })
    .join("");
}
