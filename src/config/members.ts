import { nearest } from "../text/nearest.ts";
import { hidesElements, templatesIn } from "../rules/action-traits.ts";
import type { Condition, Rule, RuleAction } from "../rules/rule.ts";
import type { Field } from "../message/field.ts";
import { narrowMethods } from "./methods.ts";
import type { Page } from "./page.ts";
import type { Range } from "./source.ts";

// The members of params by method, for revisions 2024-11-05 to 2026-07-28. Methods whose params may have any member are
// not listed.
const RETRY = ["requestState", "inputResponses"];
const LIST = ["cursor"];
const TASK = ["taskId"];
const NOTHING: readonly string[] = [];
const MEMBERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["initialize", ["protocolVersion", "capabilities", "clientInfo"]],
  ["ping", NOTHING],
  ["server/discover", NOTHING],
  ["tools/list", LIST],
  ["tools/call", ["name", "arguments", "task", ...RETRY]],
  ["resources/list", LIST],
  ["resources/templates/list", LIST],
  ["resources/read", ["uri", ...RETRY]],
  ["resources/directory/read", ["uri", ...LIST]],
  ["resources/subscribe", ["uri"]],
  ["resources/unsubscribe", ["uri"]],
  ["prompts/list", LIST],
  ["prompts/get", ["name", "arguments", ...RETRY]],
  ["completion/complete", ["ref", "argument", "context"]],
  ["logging/setLevel", ["level"]],
  [
    "sampling/createMessage",
    [
      "messages",
      "modelPreferences",
      "systemPrompt",
      "includeContext",
      "temperature",
      "maxTokens",
      "stopSequences",
      "metadata",
      "tools",
      "toolChoice",
      "task",
    ],
  ],
  ["elicitation/create", ["mode", "message", "requestedSchema", "url", "elicitationId", "task"]],
  ["roots/list", NOTHING],
  ["tasks/get", TASK],
  ["tasks/result", TASK],
  ["tasks/cancel", TASK],
  ["tasks/list", LIST],
  ["notifications/cancelled", ["requestId", "reason"]],
  ["notifications/progress", ["progressToken", "progress", "total", "message"]],
  ["notifications/message", ["level", "logger", "data"]],
  ["notifications/resources/updated", ["uri"]],
]);

/** Methods with a few fixed members, and arguments with any name. */
const WITH_ARGUMENTS = new Set(["tools/call", "prompts/get"]);

/**
 * Finds fields that cannot exist in the params of a rule's methods. In a condition on calls of tools or prompts this is
 * a mistake, because a rule that should refuse would never match; elsewhere it is a warning. Returns false if there are
 * mistakes.
 */
export function checkMembers(rule: Rule, at: (thing: Condition | RuleAction) => Range, page: Page): boolean {
  const methods = methodsOf(rule);
  const known = methods === null ? null : membersOf(methods);
  if (methods === null || known === null) return true;
  const isCall = [...methods].every((method) => WITH_ARGUMENTS.has(method));
  const what = [...methods].slice(0, 3).join(", ");
  let isRight = true;
  for (const { field, thing, isAsked } of fieldsOf(rule)) {
    const [first] = field.steps;
    if (typeof first !== "string" || first === "_meta" || first === "params" || known.has(first)) continue;
    const hint = isCall ? (CALLED[first] ?? inArguments(field)) : nearest(first, known);
    const suggestion = hint === null ? `They have: ${[...known, "_meta"].join(", ")}` : `Write ${hint}`;
    const message = `The params of ${what} have no member ${first}`;
    if (!isCall || !isAsked) page.warn(at(thing), "unknown-member", message, suggestion);
    else {
      page.wrong(at(thing), "unknown-member", message, suggestion);
      isRight = false;
    }
  }
  return isRight;
}

/** Common wrong names for the member with the tool's name. */
const CALLED: Readonly<Record<string, string | undefined>> = { tool: "name", tool_name: "name", toolName: "name" };

function inArguments({ text }: Field): string {
  return text.startsWith("/") ? `/arguments${text}` : `arguments.${text}`;
}

/** The methods that a rule names, or null. A rule with `tool_matches` is about tool calls. */
function methodsOf({ conditions, actions }: Rule): ReadonlySet<string> | null {
  const flat = conditions.flatMap(flatten);
  const { methods } = narrowMethods(flat);
  if (methods !== null) return methods;
  const isOfTools = flat.some(({ is }) => is === "tool_matches") && !hidesElements({ actions });
  const isNarrowed = flat.some(({ is }) => is.startsWith("method_"));
  return isOfTools && !isNarrowed ? new Set(["tools/call"]) : null;
}

/** Whether a rule is about tool calls, and not about tool lists. */
export function isAboutCalls(rule: Rule): boolean {
  return methodsOf(rule)?.has("tools/call") ?? !hidesElements(rule);
}

function flatten(condition: Condition): readonly Condition[] {
  return condition.is === "all" ? condition.conditions.flatMap(flatten) : [condition];
}

/** All members that the params of these methods may have. Null if one of them may have any member. */
function membersOf(methods: ReadonlySet<string>): ReadonlySet<string> | null {
  const known = new Set<string>();
  for (const method of methods) {
    const members = MEMBERS.get(method);
    if (members === undefined) return null;
    for (const member of members) known.add(member);
  }
  return methods.size === 0 ? null : known;
}

/** A field of params, and the condition or action that uses it. */
export interface UsedField {
  readonly field: Field;
  readonly thing: Condition | RuleAction;
  readonly isAsked: boolean;
}

/** All fields of params that a rule uses. */
export function fieldsOf({ conditions, actions }: Pick<Rule, "conditions" | "actions">): UsedField[] {
  const asked = conditions.flatMap(askedIn);
  const done = actions.flatMap((action) => doneIn(action).map((field) => ({ field, thing: action, isAsked: false })));
  return [...asked, ...done];
}

function askedIn(condition: Condition): UsedField[] {
  if (condition.is === "all" || condition.is === "any") return condition.conditions.flatMap(askedIn);
  if (condition.is === "not") return askedIn(condition.condition);
  if (condition.is === "touches")
    return (condition.fields ?? []).map((field) => ({ field, thing: condition, isAsked: true }));
  const isOfParams = "field" in condition && condition.is.startsWith("param_");
  return isOfParams ? [{ field: condition.field, thing: condition, isAsked: true }] : [];
}

function doneIn(action: RuleAction): Field[] {
  if (action.does === "set_param" || action.does === "remove_param") return [action.field];
  const parts = templatesIn(action).flatMap((template) => template.parts);
  return parts.flatMap((part) => (typeof part === "object" && part.name === "param" ? [part.field] : []));
}
