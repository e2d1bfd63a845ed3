import { alwaysRefuses, traitsOf } from "../rules/action-traits.ts";
import type { Condition, Rule, RuleAction } from "../rules/rule.ts";
import { guessAll } from "../rules/guess.ts";
import type { Page } from "./page.ts";
import type { Range } from "./source.ts";

/** Warns of valid rules that probably do not do what their author wants. */
export function warnOfRule(rule: Rule, at: (thing: Condition | RuleAction) => Range, page: Page): void {
  if (rule.mode === "off") return;
  const refuses = rule.actions.find(alwaysRefuses);
  const allows = rule.actions.find((action) => traitsOf(action).ends === "judging");
  if (refuses === undefined && allows === undefined) return;
  for (const { condition, isNegated } of withSigns(rule.conditions, false)) {
    warnOfDoubt(condition, isNegated, refuses !== undefined, at(condition), page);
  }
  if (refuses !== undefined && rule.mode === "on") warnOfHandshake(rule, at(rule.conditions[0] ?? refuses), page);
}

/** All conditions without nested conditions, and whether a `not` negates them. */
function withSigns(
  conditions: readonly Condition[],
  isNegated: boolean,
): { readonly condition: Condition; readonly isNegated: boolean }[] {
  return conditions.flatMap((condition) => {
    if (condition.is === "all" || condition.is === "any") return withSigns(condition.conditions, isNegated);
    if (condition.is === "not") return withSigns([condition.condition], !isNegated);
    return [{ condition, isNegated }];
  });
}

/** A doubtful path must not pass. For such a path `param_within` does not hold, and `touches` does. */
function warnOfDoubt(condition: Condition, isNegated: boolean, refuses: boolean, place: Range, page: Page): void {
  if (condition.is === "param_within" && isNegated !== refuses) {
    const message = refuses
      ? "param_within matches only if every reading of a path is inside: a path that can be read in another way is not refused"
      : "param_within does not match when it is not certain what a path refers to, and this rule lets that through";
    const paths = condition.paths.join(", ");
    const suggestion = refuses
      ? `To refuse, use touches: { paths: [${paths}] }; to refuse all else, put not around it`
      : "Take out the not, or refuse with another rule";
    page.warn(place, "leaky-condition", message, suggestion);
  } else if (condition.is === "touches" && isNegated === refuses) {
    const message =
      "touches also matches when it is not certain what a path refers to, and this rule lets that through";
    const suggestion = refuses ? "Take out the not" : "To allow, use param_within; to refuse, use block";
    page.warn(place, "leaky-condition", message, suggestion);
  }
}

/** Warns of a rule that refuses the request with which every session begins. */
function warnOfHandshake({ id, conditions, direction }: Rule, place: Range, page: Page): void {
  if (direction === "down") return;
  const refused = HANDSHAKE.find((method) => {
    return guessAll(conditions, { moment: "said", direction: "up", method, tool: null }) === "yes";
  });
  if (refused === undefined) return;
  const message = `Rule ${id} refuses ${refused}: no client can begin a session`;
  const suggestion = "Name what it is for, such as method_equals: tools/call, or use chain: { default_action: block }";
  page.warn(place, "handshake", message, suggestion);
}

const HANDSHAKE = ["initialize", "server/discover"];
