import { traitsOf } from "../rules/action-traits.ts";
import type { Condition, Rule } from "../rules/rule.ts";
import { isMethodOf, listMethods } from "./methods.ts";
import type { Page } from "./page.ts";
import { conditionKey } from "./same.ts";
import { looksAtAnswer } from "./sense.ts";

/** Warns of rules that never have a say: one that is judged before matches all that they match, and ends the matter. */
export function warnOfShadows(rules: readonly Rule[], failFast: boolean, page: Page): void {
  const order = rules.filter(({ mode }) => mode !== "off").sort((one, other) => other.priority - one.priority);
  // Those that can shadow others, by their rarest condition: whatever they shadow has that, too.
  const byHint = new Map<string, Rule[]>();
  for (const rule of order) {
    let rarest = "";
    let by: Rule | undefined;
    for (const condition of flatten(rule.conditions)) {
      const hint = hintOf(condition);
      // The longest is likely to be the rarest.
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

/** It is a warning: among very many rules of one kind some may be missed. */
const MAX_ALIKE = 100;

function flatten(conditions: readonly Condition[]): readonly Condition[] {
  if (!conditions.some(({ is }) => is === "all")) return conditions;
  return conditions.flatMap((condition) => (condition.is === "all" ? flatten(condition.conditions) : [condition]));
}

/**
 * A text that conditions share where they are the same, and mostly only there; cheaper than all that
 * they say. Empty for those about methods, which can be implied in other ways.
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

/** Whether nothing is judged after a rule that matched, or the message is not even sent. */
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
  // What is let pass on its way up is judged again when the answer comes; what is refused has no answer of the server's.
  const ofAnswers = theirs.some(looksAtAnswer);
  if (mine.some(looksAtAnswer) !== ofAnswers && (ofAnswers || findEnd(other, failFast) !== "message")) return false;
  const keys = new Set(mine.map(conditionKey));
  return theirs.every(
    (condition) => keys.has(conditionKey(condition)) || mine.some((each) => implies(each, condition)),
  );
}

/** Whether all methods that one condition accepts are accepted by the other. */
function implies(one: Condition, other: Condition): boolean {
  if (!other.is.startsWith("method_")) return false;
  const methods = listMethods(one);
  if (methods !== null) return [...methods].every((name) => isMethodOf(other, name));
  if (one.is === "method_starts_with" && other.is === one.is) return one.text.startsWith(other.text);
  if (one.is === "method_ends_with" && other.is === one.is) return one.text.endsWith(other.text);
  return one.is === "method_matches" && other.is === one.is && one.pattern.source === other.pattern.source;
}
