import { traitsOf } from "../rules/action-traits.ts";
import type { Condition, Rule } from "../rules/rule.ts";
import { isMethodOf, listMethods } from "./methods.ts";
import type { Page } from "./page.ts";
import { conditionKey } from "./same.ts";
import { looksAtAnswer } from "./sense.ts";

/**
 * Warns of rules that never have an effect, because an earlier rule matches everything that they match and ends the
 * judging.
 */
export function warnOfShadows(rules: readonly Rule[], failFast: boolean, page: Page): void {
  const order = rules.filter(({ mode }) => mode !== "off").sort((one, other) => other.priority - one.priority);
  // The rules that can shadow others, by their rarest condition, which every shadowed rule must have too.
  const byHint = new Map<string, Rule[]>();
  for (const rule of order) {
    let rarest = "";
    let by: Rule | undefined;
    for (const condition of flatten(rule.conditions)) {
      const hint = hintOf(condition);
      // The longest hint is probably the rarest.
      if (hint.length > rarest.length) rarest = hint;
      if (hint !== "") by ??= byHint.get(hint)?.find((other) => isShadowedBy(rule, other, failFast));
    }
    by ??= byHint.get("")?.find((other) => isShadowedBy(rule, other, failFast));
    if (by !== undefined) warn(rule, by, page);
    else if (findEnd(rule, failFast) !== null) {
      const alike = byHint.get(rarest);
      if (alike === undefined) byHint.set(rarest, [rule]);
      else if (alike.length < MAX_ALIKE) alike.push(rule);
    }
  }
}

/** The limit of similar rules that are compared. It is only a warning, so a few shadowed rules may be missed. */
const MAX_ALIKE = 100;

function flatten(conditions: readonly Condition[]): readonly Condition[] {
  if (!conditions.some(({ is }) => is === "all")) return conditions;
  return conditions.flatMap((condition) => (condition.is === "all" ? flatten(condition.conditions) : [condition]));
}

/**
 * A text that is equal for equal conditions and mostly differs for others, and is cheaper than `conditionKey`. Empty
 * for conditions on methods, because other conditions can imply them.
 */
function hintOf(condition: Condition): string {
  const { is } = condition;
  if (is.startsWith("method_")) return "";
  if (!("field" in condition)) return "pattern" in condition ? `${is} ${condition.pattern.source}` : is;
  const { steps } = condition.field;
  const value = "values" in condition ? condition.values[0] : "value" in condition ? condition.value : null;
  return `${is} ${steps[steps.length - 1]} ${typeof value === "object" ? "" : value}`;
}

function warn(rule: Rule, by: Rule, page: Page): void {
  const start = page.source.offset(rule.place);
  const message = `Rule ${rule.id} never takes effect: rule ${by.id} in line ${by.place.line} is judged before it and matches all that it matches`;
  const isBefore = rule.priority === by.priority;
  const suggestion = `${isBefore ? "Put it before that one" : "Give it a higher priority"}, or take it out`;
  page.warn({ start, end: start + 1 }, "shadowed", message, suggestion);
}

/** What a matching rule ends: the judging, the message because it is refused, or nothing (null). */
function findEnd({ mode, actions }: Rule, failFast: boolean): "judging" | "message" | null {
  if (mode !== "on") return null;
  let end: "judging" | null = null;
  for (const action of actions) {
    const { ends } = traitsOf(action);
    if (ends === "message") return failFast ? "message" : null;
    if (ends === "judging") end = "judging";
  }
  return end;
}

function isShadowedBy(rule: Rule, other: Rule, failFast: boolean): boolean {
  if (other.direction !== null && other.direction !== rule.direction) return false;
  const [mine, theirs] = [flatten(rule.conditions), flatten(other.conditions)];
  // A request that is allowed is judged again when its response arrives; a refused one has no response from the server.
  const ofAnswers = theirs.some(looksAtAnswer);
  if (mine.some(looksAtAnswer) !== ofAnswers && (ofAnswers || findEnd(other, failFast) !== "message")) return false;
  const keys = new Set(mine.map(conditionKey));
  return theirs.every(
    (condition) => keys.has(conditionKey(condition)) || mine.some((each) => implies(each, condition)),
  );
}

/** Whether the second condition accepts all methods that the first one accepts. */
function implies(one: Condition, other: Condition): boolean {
  if (!other.is.startsWith("method_")) return false;
  const methods = listMethods(one);
  if (methods !== null) return [...methods].every((name) => isMethodOf(other, name));
  if (one.is === "method_starts_with" && other.is === one.is) return one.text.startsWith(other.text);
  if (one.is === "method_ends_with" && other.is === one.is) return one.text.endsWith(other.text);
  return one.is === "method_matches" && other.is === one.is && one.pattern.source === other.pattern.source;
}
