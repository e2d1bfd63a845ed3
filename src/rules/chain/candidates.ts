import { hidesElements } from "../action-traits.ts";
import type { CompiledRule } from "../compiled-rule.ts";
import type { Candidate } from "../rule-index.ts";
import { nameOf } from "./actions.ts";
import type { Walk } from "./walk.ts";

/** Whether the current reply comes from this rule, whose further actions may still change it. */
export function isOwnReply({ ruling }: Walk, { rule }: CompiledRule): boolean {
  return ruling?.verdict.do === "reply" && ruling.rule === nameOf(rule);
}

/** The candidates that are judged after this one. */
export function following({ compiled }: Candidate, candidates: readonly Candidate[]): Candidate[] {
  const { priority } = compiled.rule;
  return candidates.filter(({ compiled: other }) => {
    if (other.rule.priority !== priority) return other.rule.priority < priority;
    return other.order > compiled.order;
  });
}

/** Whether a rule hides elements of lists. Its conditions are then judged for each element by the action. */
export function isHiding({ rule }: CompiledRule): boolean {
  return hidesElements(rule);
}
