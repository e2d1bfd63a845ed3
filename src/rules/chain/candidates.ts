import { hidesElements } from "../action-traits.ts";
import type { CompiledRule } from "../compiled-rule.ts";
import type { Candidate } from "../rule-index.ts";
import { nameOf } from "./actions.ts";
import type { Walk } from "./walk.ts";

/** A reply that the same rule is still making. */
export function isOwnReply({ ruling }: Walk, { rule }: CompiledRule): boolean {
  return ruling?.verdict.do === "reply" && ruling.rule === nameOf(rule);
}

/** Those that come after a candidate. */
export function following({ compiled }: Candidate, candidates: readonly Candidate[]): Candidate[] {
  const { priority } = compiled.rule;
  return candidates.filter(({ compiled: other }) => {
    if (other.rule.priority !== priority) return other.rule.priority < priority;
    return other.order > compiled.order;
  });
}

/** Whether a rule hides elements of lists: which of them is found out when they are. */
export function isHiding({ rule }: CompiledRule): boolean {
  return hidesElements(rule);
}
