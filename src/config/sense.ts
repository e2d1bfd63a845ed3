import { isWatching, traitsOf } from "../rules/action-traits.ts";
import type { Condition, Rule, RuleAction } from "../rules/rule.ts";
import { findWays as findKnownWays } from "../rules/ways.ts";
import { describeMethod } from "../message/methods.ts";
import { warnOfRule } from "./advice.ts";
import { warnOfServer } from "./against-server.ts";
import { headOf } from "./collections.ts";
import { findContradiction } from "./contradictions.ts";
import { checkMembers } from "./members.ts";
import { listMethods, type Methods, narrowMethods } from "./methods.ts";
import type { MapNode, Node } from "./node.ts";
import type { Page } from "./page.ts";
import type { Range } from "./source.ts";

/** Reports conditions that can never hold together. `node` is their list. Returns false if there are any. */
export function checkConditions(conditions: readonly Condition[], node: Node | undefined, page: Page): boolean {
  const at = (condition: Condition): Range => findCondition(conditions, node, condition) ?? node ?? NOWHERE;
  const found = findContradiction(conditions, (dead) => {
    page.warn(at(dead), "dead-branch", "This alternative can never match", "Fix it, or remove it");
  });
  if (found === null) return true;
  page.wrong(at(found.condition), "never-matches", `${NEVER}: ${found.why}`, found.suggestion);
  return false;
}

const NEVER = "This rule can never match";
const NOWHERE: Range = { start: 0, end: 0 };

/**
 * The position of a condition in the list that it was read from. It is searched for, not stored, because it is rarely
 * needed.
 */
function findCondition(conditions: readonly Condition[], node: Node | undefined, wanted: Condition): Range | null {
  if (node?.kind !== "list") return null;
  for (const [nth, condition] of conditions.entries()) {
    const found = findInside(condition, node.item(nth), wanted);
    if (found !== null) return found;
  }
  return null;
}

function findInside(condition: Condition, node: Node, wanted: Condition): Range | null {
  if (node.kind !== "map") return null;
  const [entry] = node.entries;
  if (condition === wanted) return entry;
  if (condition.is === "not") return findInside(condition.condition, entry.value, wanted);
  const isList = condition.is === "all" || condition.is === "any";
  return isList ? findCondition(condition.conditions, entry.value, wanted) : null;
}

/**
 * Reports contradictions in a rule whose conditions can hold: a direction without messages, or actions that come too
 * late.
 */
export function checkRule(rule: Rule, node: MapNode, page: Page): boolean {
  const valueOf = (key: string): Node | undefined => node.entries.find(({ name }) => name === key)?.value;
  const at = (thing: Condition | RuleAction): Range => {
    if ("is" in thing) return findCondition(rule.conditions, valueOf("conditions"), thing) ?? headOf(node);
    const list = valueOf("actions");
    const item = list?.kind === "list" ? list.item(rule.actions.indexOf(thing)) : undefined;
    return (item?.kind === "map" ? item.entries[0] : item) ?? headOf(node);
  };
  const never = (thing: Condition | RuleAction, why: string, suggestion: string): false => {
    page.wrong(at(thing), "never-matches", `${NEVER}: ${why}`, suggestion);
    return false;
  };
  if (rule.direction !== null) {
    const conditions: Condition[] = [...rule.conditions, { is: "direction", direction: rule.direction }];
    const found = findContradiction(conditions, () => {});
    if (found !== null) return never(found.condition, found.why, found.suggestion ?? "");
  }
  const asks = rule.conditions.find(looksAtAnswer);
  const isNested = rule.conditions.some(({ is }) => is === "all");
  const flat = isNested ? rule.conditions.flatMap(flatten) : rule.conditions;
  const direction = flat.find((condition) => condition.is === "direction")?.direction ?? rule.direction;
  const hides = rule.actions.find((action) => traitsOf(action).needs === "list");
  const isSpecial = asks !== undefined || direction !== null || hides !== undefined;
  const { methods } = isSpecial ? narrowMethods(flat) : { methods: null };
  const ways = findWays(methods, direction, flat);
  if (ways === "none") {
    return never(flat[0], `no message with this method goes ${direction}`, "Change its direction, or its method");
  }
  if (asks !== undefined && ways === "messages") {
    return never(asks, `an answer to this method does not go ${direction}, or there is none`, "Take out the direction");
  }
  if (asks === undefined && hides === undefined && methods !== null && direction !== null) {
    const stray = findStray(methods, direction);
    if (stray !== null) {
      const condition = flat.find((each) => listMethods(each)?.has(stray)) ?? flat[0];
      const message = `Only answers to ${stray} go ${direction}, and this rule is about more than answers`;
      page.wrong(at(condition), "dead-branch", message, `Make another rule for ${stray}`);
      return false;
    }
  }
  const isOfAnswers = asks !== undefined || ways === "answers";
  const tooLate = rule.actions.find((action) => traitsOf(action).needs === "request");
  if (tooLate !== undefined && isOfAnswers) {
    const why = `it is judged when the answer comes, and ${tooLate.does} has to be done before the request is forwarded`;
    return never(tooLate, why, "Make two rules of it, or take out what looks at the answer");
  }
  if (hides !== undefined && methods !== null && ![...methods].some((method) => method.endsWith("/list"))) {
    return never(
      hides,
      "hide works only on lists, and none of the rule's methods is a list method",
      "Use block, or a method such as tools/list",
    );
  }
  const ofTool = hides === undefined ? flat.find(({ is }) => is === "tool_matches") : undefined;
  if (ofTool !== undefined && isOfLists(narrowMethods(flat).methods)) {
    return never(
      ofTool,
      "only a rule that hides looks at the names in a list",
      "Use hide, or method_equals: tools/call",
    );
  }
  if (tooLate !== undefined && hides !== undefined) {
    const message = `${tooLate.does} has to be done before the request is forwarded, and hide waits for the answer`;
    page.warn(at(tooLate), "no-effect", message, "Make two rules of it");
  }
  warnAboutRest(rule, at, page);
  warnOfRule(rule, at, page);
  warnOfServer(rule, at, page);
  return checkMembers(rule, at, page);
}

/** Whether all of these methods list resources or prompts. */
function isOfLists(methods: Methods): boolean {
  return (
    methods !== null && methods.size > 0 && [...methods].every((name) => /^(?:resources|prompts)\/.*list$/.test(name))
  );
}

function warnAboutRest({ actions }: Rule, at: (action: RuleAction) => Range, page: Page): void {
  const last = actions.findIndex((action) => traitsOf(action).ends !== null);
  if (last < 0) return;
  for (const action of actions.slice(last + 1)) {
    if (isWatching(action)) continue;
    const message = `${action.does} does nothing after ${actions[last].does}`;
    page.warn(at(action), "no-effect", message, "Put it before, or take it out");
  }
}

/** The conditions that must all hold, without the `all` lists around them. */
function flatten(condition: Condition): readonly Condition[] {
  return condition.is === "all" ? condition.conditions.flatMap(flatten) : [condition];
}

/** Whether a condition can only be judged when the response arrives. */
export function looksAtAnswer(condition: Condition): boolean {
  if (condition.is === "all" || condition.is === "any") return condition.conditions.some(looksAtAnswer);
  if (condition.is === "not") return looksAtAnswer(condition.condition);
  return condition.is.startsWith("result_") || condition.is.startsWith("error_");
}

/**
 * What a rule can match, given its methods and direction: requests and notifications, their responses, both, or
 * nothing.
 */
function findWays(
  methods: Methods,
  direction: "up" | "down" | null,
  conditions: readonly Condition[],
): "messages" | "answers" | "both" | "none" {
  if (methods === null) {
    const { said, answered } = direction === null ? BOTH : findKnownWays(conditions, direction);
    return said === answered ? "both" : said ? "messages" : "answers";
  }
  let messages = false;
  let answers = false;
  for (const name of methods) {
    const method = describeMethod(name);
    if (method === null) continue;
    const isSent = (by: "client" | "server"): boolean => method.sender === "both" || method.sender === by;
    if (direction !== "down" ? isSent("client") : isSent("server")) messages = true;
    if (direction === null && isSent("server")) messages = true;
    if (method.form === "notification") continue;
    if (direction !== "up" ? isSent("client") : isSent("server")) answers = true;
    if (direction === null && isSent("server")) answers = true;
  }
  return messages ? (answers ? "both" : "messages") : answers ? "answers" : "none";
}

const BOTH = { said: true, answered: true };

/**
 * A method whose own messages are never sent in this direction, among others that are. One rule judges either messages
 * or responses, not both.
 */
function findStray(methods: ReadonlySet<string>, direction: "up" | "down"): string | null {
  const other = direction === "up" ? "server" : "client";
  const strays = [...methods].filter((name) => describeMethod(name)?.sender === other);
  return strays.length === methods.size ? null : (strays[0] ?? null);
}
