import type { Direction } from "../message/message.ts";
import { hidesElements, templatesIn } from "./action-traits.ts";
import type { CelTest } from "./cel.ts";
import { type Answer, askAll, type Clause, compileCondition, explain, type Trace } from "./conditions.ts";
import type { Moment } from "./guess.ts";
import { createFieldTable } from "./fields.ts";
import type { CompileContext } from "./leaves.ts";
import type { Condition, Rule } from "./rule.ts";
import type { Look } from "./view.ts";
import { findWays } from "./ways.ts";

/** A rule with compiled conditions. */
export interface CompiledRule {
  readonly rule: Rule;
  /** Its position in the policy file: of two rules with the same priority, the first one is judged first. */
  readonly order: number;
  readonly moment: Moment;
  /** Whether the rule looks into params. If so, the params of a request are kept until its response arrives. */
  readonly looksIntoParams: boolean;
  /** Its conditions, all of which must hold. */
  readonly clauses: readonly Clause[];
}

/** Compiles rules. `cel` is needed if they contain expressions, which must be known to compile. */
export function compileRules(rules: readonly Rule[], cel: ((expression: string) => CelTest) | null): CompiledRule[] {
  const context: CompileContext = { fields: createFieldTable(), cel };
  return rules.map((rule, order) => ({
    rule,
    order,
    moment: momentOf(rule, cel),
    looksIntoParams: namesParams(rule) || anyLeaf(rule.conditions, (condition) => looksInto(condition, "params", cel)),
    clauses: rule.conditions.map((condition) => compileCondition(condition, context)),
  }));
}

/** Whether a template of an action uses a variable for params. */
function namesParams({ actions }: Rule): boolean {
  return actions
    .flatMap(templatesIn)
    .some(({ parts }) => parts.some((part) => typeof part !== "string" && part.name.startsWith("param")));
}

/** Whether a rule matches. Never throws: the answer is "unsure" if the rule could not be judged. */
export function askRule({ clauses }: CompiledRule, look: Look): Answer {
  return askAll(clauses, look);
}

/** The answer of each condition of a rule, including conditions that do not affect the result. */
export function explainRule({ clauses }: CompiledRule, look: Look): Trace[] {
  return clauses.map((clause) => explain(clause, look));
}

/**
 * A rule that looks at a result or an error is judged when the response arrives. The same holds for a rule that hides
 * elements of a list, and for one whose method and direction can only match responses.
 */
function momentOf(rule: Rule, cel: ((expression: string) => CelTest) | null): Moment {
  const isAbout = (section: "result" | "error") =>
    anyLeaf(rule.conditions, (condition) => looksInto(condition, section, cel));
  if (isAbout("result") || isAbout("error")) return "answered";
  if (hidesElements(rule)) return "answered";
  const direction = rule.direction ?? wantedDirection(rule.conditions);
  if (direction === null) return "said";
  const { said, answered } = findWays(rule.conditions, direction);
  return answered && !said ? "answered" : "said";
}

/** All expressions in these rules. */
export function expressionsIn(rules: readonly Rule[]): string[] {
  const expressions: string[] = [];
  for (const { conditions } of rules)
    anyLeaf(conditions, (condition) => {
      if (condition.is === "cel") expressions.push(condition.expression);
      return false;
    });
  return expressions;
}

function anyLeaf(conditions: readonly Condition[], isWanted: (condition: Condition) => boolean): boolean {
  return conditions.some((condition) => {
    if (condition.is === "all" || condition.is === "any") return anyLeaf(condition.conditions, isWanted);
    return condition.is === "not" ? anyLeaf([condition.condition], isWanted) : isWanted(condition);
  });
}

function looksInto(
  condition: Condition,
  section: "params" | "result" | "error",
  cel: ((expression: string) => CelTest) | null,
): boolean {
  if (condition.is === "cel") return cel?.(condition.expression).uses.has(section) ?? false;
  if (condition.is === "touches") return section === "params";
  return condition.is.startsWith(PREFIX[section]);
}

const PREFIX = { params: "param_", result: "result_", error: "error_" } as const;

function wantedDirection(conditions: readonly Condition[]): Direction | null {
  for (const condition of conditions) {
    const found = condition.is === "all" ? wantedDirection(condition.conditions) : null;
    if (condition.is === "direction") return condition.direction;
    if (found !== null) return found;
  }
  return null;
}
