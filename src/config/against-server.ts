import { showText } from "../message/text.ts";
import { nearest } from "../text/nearest.ts";
import type { Condition, Rule, RuleAction } from "../rules/rule.ts";
import { guessAll } from "../rules/guess.ts";
import type { ToolFacts } from "./facts.ts";
import { describeMember, memberNames } from "./input-schema.ts";
import { fieldsOf, isAboutCalls, type UsedField } from "./members.ts";
import type { Page } from "./page.ts";
import type { Range } from "./source.ts";

/** Warns of a tool name that the server does not have. */
export function warnOfTool(name: string, range: Range, page: Page): void {
  const tools = page.facts.tools;
  if (tools === undefined || tools.some((tool) => tool.name === name)) return;
  const hint = nearest(
    name,
    tools.map((tool) => tool.name),
  );
  const suggestion = hint === null ? `It has: ${listNames(tools.map((tool) => tool.name))}` : `Did you mean ${hint}?`;
  page.warn(range, "unknown-tool", `The server has no tool ${showText(name, 80)}`, suggestion);
}

/** Warns of a pattern that matches no tool of the server. */
export function warnOfToolPattern(
  { source, test }: { readonly source: string; test(name: string): boolean },
  range: Range,
  page: Page,
): void {
  const tools = page.facts.tools;
  if (tools === undefined || tools.length === 0 || tools.some(({ name }) => test(name))) return;
  const word = source.replaceAll(/[\^$\\]/g, "");
  const hint = nearest(
    word,
    tools.map(({ name }) => name),
  );
  const suggestion = hint === null ? `It has: ${listNames(tools.map(({ name }) => name))}` : `Did you mean ${hint}?`;
  page.warn(range, "unknown-tool", `No tool of the server matches ${showText(source, 80)}`, suggestion);
}

/** Warns of tools, arguments and types in a rule that are not in the server's tool list. */
export function warnOfServer(rule: Rule, at: (thing: Condition | RuleAction) => Range, page: Page): void {
  const all = page.facts.tools;
  if (all === undefined || rule.mode === "off") return;
  if (!isAboutCalls(rule)) return;
  for (const condition of leavesOf(rule.conditions)) warnOfNames(condition, at(condition), page);
  const tools = all.filter(({ name }) => {
    return guessAll(rule.conditions, { moment: "said", direction: "up", method: "tools/call", tool: name }) !== "no";
  });
  if (tools.length === 0) return;
  for (const used of fieldsOf(rule)) warnOfArgument(used, tools, at(used.thing), page);
}

function leavesOf(conditions: readonly Condition[]): Condition[] {
  return conditions.flatMap((condition) => {
    if (condition.is === "all" || condition.is === "any") return leavesOf(condition.conditions);
    return condition.is === "not" ? leavesOf([condition.condition]) : [condition];
  });
}

function warnOfNames(condition: Condition, range: Range, page: Page): void {
  if (condition.is === "tool_matches") {
    const { pattern } = condition;
    warnOfToolPattern({ source: pattern.source, test: (name) => pattern.test(name) }, range, page);
  } else if (condition.is === "calls_so_far" && condition.tool !== null) warnOfTool(condition.tool, range, page);
  else if (condition.is === "param_equals" || condition.is === "param_in") {
    const { steps } = condition.field;
    if (steps.length !== 1 || steps[0] !== "name") return;
    const values = condition.is === "param_in" ? condition.values : [condition.value];
    for (const value of values) if (typeof value === "string") warnOfTool(value, range, page);
  }
}

function warnOfArgument({ field, thing }: UsedField, tools: readonly ToolFacts[], range: Range, page: Page): void {
  const [first, ...steps] = field.steps;
  if (first !== "arguments" || steps.length === 0) return;
  const found = tools.map(({ inputSchema }) => describeMember(inputSchema, steps));
  const known = found.flatMap((each) => (each === "unknown" ? [] : [each.types]));
  const which = tools.length === 1 ? tools[0].name : `any of ${tools.length} tools`;
  if (known.length === 0) {
    const names = [...new Set(tools.flatMap(({ inputSchema }) => memberNames(inputSchema)))];
    const hint = nearest(String(steps[0]), names);
    const isDeeper = names.includes(String(steps[0]));
    const suggestion =
      isDeeper || hint === null
        ? `Known here: ${listNames(names) || "no arguments"}`
        : `Did you mean arguments.${[hint, ...steps.slice(1)].join(".")}?`;
    const message = `${field.text} is not an argument of ${which}`;
    return page.warn(range, "unknown-argument", message, suggestion);
  }
  const wanted = "is" in thing ? WANTED[thing.is] : undefined;
  if (wanted === undefined || known.some((types) => types === null || wanted.some((type) => types.has(type)))) return;
  const types = [...new Set(known.flatMap((each) => Array.from(each ?? [])))];
  page.warn(
    range,
    "unknown-argument",
    `${field.text} is ${types.join(" or ")} in ${which}, and ${"is" in thing ? thing.is : ""} is for ${wanted[0]}`,
    "Use a condition for what it is, such as param_equals",
  );
}

/** The JSON Schema types for which a condition can hold. */
const WANTED: Readonly<Partial<Record<Condition["is"], readonly string[]>>> = {
  param_matches: ["string"],
  param_within: ["string", "array"],
  param_greater_than: ["number", "integer"],
  param_less_than: ["number", "integer"],
  param_is_array: ["array"],
  param_is_null: ["null"],
};

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => showText(name, 40));
  return names.length > MAX_NAMES ? `${shown.join(", ")}, …` : shown.join(", ");
}

const MAX_NAMES = 10;
