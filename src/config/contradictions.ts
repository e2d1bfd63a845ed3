import { canonicalValue } from "../message/canonical-value.ts";
import type { Condition } from "../rules/rule.ts";
import type { Field } from "../message/field.ts";
import type { Json } from "../message/json.ts";
import { findImpostor, listMethods, narrowMethods } from "./methods.ts";
import { conditionKey, fieldKey, isEqualJson } from "./same.ts";

/** Why conditions cannot all hold, and the condition that conflicts with the others. */
export interface Contradiction {
  readonly condition: Condition;
  readonly why: string;
  readonly suggestion: string | null;
}

/**
 * Finds out whether conditions can never hold together. `onDead` is called for alternatives of an `any` that can never
 * hold while others can.
 */
export function findContradiction(
  conditions: readonly Condition[],
  onDead: (condition: Condition) => void,
): Contradiction | null {
  const has = count(conditions);
  const flat = has.all > 0 ? flattenAll(conditions) : conditions;
  const { method, field, single, not, any, other } = has.all > 0 ? count(flat) : has;
  // Cheap check first: most rules have one condition of each kind, and a contradiction needs two.
  const found =
    (method > 0 ? findImpostorAmong(flat) : null) ??
    (method + not + other > 1 ? findAmongMethods(flat) : null) ??
    (field > 1 && hasFieldTwice(flat) ? findAmongValues(flat) : null) ??
    (single > 1 ? findAmongSingles(flat) : null) ??
    (not > 0 ? findNegated(flat) : null);
  if (found !== null) return found;
  if (any === 0) return null;
  const plain = flat.filter(({ is }) => is !== "any");
  let work = MAX_WORK;
  for (const condition of flat) {
    if (condition.is !== "any") continue;
    work -= plain.length * condition.conditions.length;
    if (work < 0) break;
    const dead = condition.conditions.filter((branch) => findContradiction([...plain, branch], onDead) !== null);
    if (dead.length === condition.conditions.length) {
      return {
        condition,
        why: "no alternative can match together with the other conditions",
        suggestion: "Fix one of them, or remove the rule",
      };
    }
    dead.forEach(onDead);
  }
  return null;
}

function hasFieldTwice(conditions: readonly Condition[]): boolean {
  const last: Field[] = [];
  for (const condition of conditions) {
    if (!("field" in condition)) continue;
    const { field } = condition;
    const { steps } = field;
    if (last.length > 4) return true;
    const isSame = (other: Field): boolean =>
      other.steps.length === steps.length && other.steps.every((step, nth) => String(step) === String(steps[nth]));
    if (last.some(isSame)) return true;
    last.push(field);
  }
  return false;
}

/** Counts the conditions of each kind. */
function count(conditions: readonly Condition[]): Record<Kind, number> {
  const counts = { method: 0, field: 0, single: 0, not: 0, any: 0, all: 0, other: 0 };
  for (const { is } of conditions) {
    counts[KINDS[is]]++;
    if (is.startsWith("result_")) counts.single++;
  }
  return counts;
}

type Kind = "method" | "field" | "single" | "not" | "any" | "all" | "other";

const KINDS: Readonly<Record<Condition["is"], Kind>> = {
  method_equals: "method",
  method_starts_with: "method",
  method_ends_with: "method",
  method_matches: "method",
  method_in: "method",
  param_exists: "field",
  param_is_null: "field",
  param_is_array: "field",
  param_equals: "field",
  param_in: "field",
  param_matches: "field",
  param_greater_than: "field",
  param_less_than: "field",
  param_within: "field",
  touches: "other",
  result_exists: "field",
  result_equals: "field",
  result_matches: "field",
  error_code_equals: "single",
  error_message_contains: "single",
  session_id_equals: "single",
  session_age_greater_than: "other",
  calls_so_far: "other",
  state_equals: "other",
  direction: "single",
  client_matches: "other",
  tool_matches: "other",
  identity_matches: "other",
  all: "all",
  any: "any",
  not: "not",
  cel: "other",
};

/** The limit of comparisons for alternatives and values. */
const MAX_WORK = 100_000;

function flattenAll(conditions: readonly Condition[]): Condition[] {
  return conditions.flatMap((condition) => (condition.is === "all" ? flattenAll(condition.conditions) : [condition]));
}

const SPLIT = "Make two rules of it, or take one out";

function findImpostorAmong(conditions: readonly Condition[]): Contradiction | null {
  for (const condition of conditions) {
    const impostor = findImpostor(condition);
    if (impostor === null) continue;
    const { name, known } = impostor;
    const suggestion = known === null ? null : `Write ${known}`;
    return {
      condition,
      why: `messages with the method ${name} are refused, because they are too similar to a known method`,
      suggestion,
    };
  }
  return null;
}

function findAmongMethods(conditions: readonly Condition[]): Contradiction | null {
  const about = conditions.filter(({ is }) => is === "not" || is === "tool_matches" || is.startsWith("method_"));
  if (about.length < 2) return null;
  if (about.some((condition) => listMethods(condition) !== null)) {
    const { emptiedBy: condition } = narrowMethods(about);
    if (condition === null) return null;
    const index = about.indexOf(condition);
    const others = about
      .slice(Math.max(0, index - 3), index)
      .map(showMethods)
      .filter(Boolean)
      .join(" and ");
    const why =
      others === ""
        ? `${condition.is} excludes every method`
        : `the method cannot be ${others} and also ${showMethods(condition)}`;
    return {
      condition,
      why,
      suggestion: condition.is === "method_equals" ? "Use method_in for one of several" : SPLIT,
    };
  }
  return (
    findApart(about, "method_starts_with", (one, other) => one.startsWith(other) || other.startsWith(one)) ??
    findApart(about, "method_ends_with", (one, other) => one.endsWith(other) || other.endsWith(one))
  );
}

function findApart(
  conditions: readonly Condition[],
  is: "method_starts_with" | "method_ends_with",
  fit: (one: string, other: string) => boolean,
): Contradiction | null {
  const texts = conditions.flatMap((condition) => (condition.is === is ? [condition] : []));
  const odd = texts.find(({ text }, index) => index > 0 && !fit(texts[index - 1].text, text));
  return odd === undefined
    ? null
    : { condition: odd, why: `the method cannot be like both ${is} conditions`, suggestion: SPLIT };
}

function showMethods(condition: Condition): string {
  if (condition.is === "method_equals") return condition.text;
  if (condition.is === "method_in") return `one of ${[...condition.texts].slice(0, 5).join(", ")}`;
  if (condition.is === "method_matches") return `like ${condition.pattern.source}`;
  if (condition.is === "method_starts_with") return `${condition.text}…`;
  if (condition.is === "method_ends_with") return `…${condition.text}`;
  if (condition.is === "tool_matches") return "about a tool";
  return condition.is === "not" ? `not ${showMethods(condition.condition)}` : "";
}

/** What the conditions require of one member of a message. */
interface Known {
  values: readonly Json[] | null;
  above: number | bigint | null;
  below: number | bigint | null;
}

function findAmongValues(conditions: readonly Condition[]): Contradiction | null {
  const byField = new Map<string, Known>();
  for (const condition of conditions) {
    if (!("field" in condition)) continue;
    const key = memberKey(condition);
    const known = byField.get(key) ?? { values: null, above: null, below: null };
    byField.set(key, known);
    narrow(known, condition);
    const isImpossible =
      known.values?.length === 0 || (known.above !== null && known.below !== null && known.above >= known.below);
    if (isImpossible)
      return { condition, why: `${condition.field.text} cannot satisfy all of these conditions`, suggestion: SPLIT };
  }
  // A second pass for bounds and types that were read before the values.
  let work = MAX_WORK;
  for (const condition of conditions) {
    if (!("field" in condition)) continue;
    const known = byField.get(memberKey(condition));
    if (known === undefined || known.values === null) continue;
    work -= known.values.length;
    if (work < 0) return null;
    if (known.values.some((value) => fits(condition, value))) continue;
    return { condition, why: `${condition.field.text} cannot satisfy all of these conditions`, suggestion: SPLIT };
  }
  return null;
}

function memberKey(condition: Condition & { readonly field: Field }): string {
  return `${condition.is.startsWith("result") ? "result" : "params"} ${fieldKey(condition.field)}`;
}

function narrow(known: Known, condition: Condition): void {
  const { values } = known;
  if (condition.is === "param_equals" || condition.is === "result_equals") {
    known.values = values === null ? [condition.value] : values.filter((value) => isEqualJson(value, condition.value));
  } else if (condition.is === "param_in") {
    const keys = values === null ? null : new Set(condition.values.map(canonicalValue));
    known.values = values === null ? condition.values : values.filter((value) => keys?.has(canonicalValue(value)));
  } else if (condition.is === "param_is_null") {
    known.values = values === null ? [null] : values.filter((value) => value === null);
  } else if (condition.is === "param_greater_than") {
    if (known.above === null || condition.value > known.above) known.above = condition.value;
  } else if (condition.is === "param_less_than") {
    if (known.below === null || condition.value < known.below) known.below = condition.value;
  }
}

/** Whether a condition can hold for a member with this value. */
function fits(condition: Condition, value: Json): boolean {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  if (condition.is === "param_is_array") return Array.isArray(value);
  if (condition.is === "param_greater_than") return isNumber && value > condition.value;
  if (condition.is === "param_less_than") return isNumber && value < condition.value;
  if (condition.is === "param_within") return typeof value === "string" || Array.isArray(value);
  if (condition.is !== "param_matches" && condition.is !== "result_matches") return true;
  return typeof value !== "string" || condition.pattern.test(value.slice(0, MAX_SUBJECT_CHARACTERS));
}

const MAX_SUBJECT_CHARACTERS = 10_000;

/** Finds conditions that require two values of something that a message has only once. */
function findAmongSingles(conditions: readonly Condition[]): Contradiction | null {
  const codes = conditions.flatMap((condition) => (condition.is === "error_code_equals" ? [condition] : []));
  const other = codes.find(({ code }) => code !== codes[0].code);
  if (other !== undefined) {
    return { condition: other, why: "an error has one code", suggestion: "Use any for one of several" };
  }
  const first = new Map<string, Condition>();
  for (const condition of conditions) {
    const single = singleOf(condition);
    if (single === null) continue;
    const [what, value] = single;
    const before = first.get(what);
    if (before === undefined) first.set(what, condition);
    else if (singleOf(before)?.[1] !== value)
      return { condition, why: `it requires two different values of the ${what}`, suggestion: SPLIT };
  }
  return null;
}

function singleOf(condition: Condition): readonly [string, string] | null {
  if (condition.is === "direction") return ["direction", condition.direction];
  if (condition.is === "session_id_equals") return ["session", condition.text];
  if (condition.is === "error_code_equals") return [OUTCOME, "error"];
  if (condition.is === "error_message_contains") return [OUTCOME, "error"];
  return condition.is.startsWith("result_") ? [OUTCOME, "result"] : null;
}

const OUTCOME = "outcome of a request (a result or an error)";

/** Finds a condition together with its own negation. */
function findNegated(conditions: readonly Condition[]): Contradiction | null {
  const negations = conditions.flatMap((condition) => (condition.is === "not" ? [condition] : []));
  const keys = new Set(conditions.map(conditionKey));
  const negated = negations.find(({ condition }) => keys.has(conditionKey(condition)));
  return negated === undefined
    ? null
    : { condition: negated, why: "a condition and its opposite cannot both be true", suggestion: "Take one out" };
}
