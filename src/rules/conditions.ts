import type { Leaf } from "./leaf.ts";
import { type CompileContext, compileLeaf } from "./leaves.ts";
import type { Condition } from "./rule.ts";
import { Unjudgeable } from "./unjudgeable.ts";
import type { Doubt, Look } from "./view.ts";

/** Whether a condition holds. "unsure" means that it could not be judged and that no other condition decides. */
export type Answer = "yes" | "no" | "unsure";

/** A compiled condition, with the conditions nested in it. */
export interface Clause {
  readonly condition: Condition;
  readonly joined: "all" | "any" | "not" | "leaf";
  readonly parts: readonly Clause[];
  /** The test of a condition without nested conditions. */
  readonly leaf: Leaf;
}

/** Compiles a condition. */
export function compileCondition(condition: Condition, context: CompileContext): Clause {
  if ("conditions" in condition) {
    const parts = condition.conditions.map((part) => compileCondition(part, context));
    return { condition, joined: condition.is, parts, leaf: NO_LEAF };
  }
  if ("condition" in condition) {
    return { condition, joined: "not", parts: [compileCondition(condition.condition, context)], leaf: NO_LEAF };
  }
  return { condition, joined: "leaf", parts: [], leaf: compileLeaf(condition, context) };
}

const NO_LEAF: Leaf = { test: () => false, saw: () => "" };

/** Whether a condition holds. Never throws, and stops as soon as the answer is certain. */
function ask(clause: Clause, look: Look): Answer {
  if (clause.joined === "leaf") {
    try {
      return clause.leaf.test(look) ? "yes" : "no";
    } catch (error) {
      look.doubt ??= doubtOf(clause.condition.is, error);
      return "unsure";
    }
  }
  if (clause.joined === "all") return askAll(clause.parts, look);
  return clause.joined === "any" ? askAny(clause.parts, look) : opposite(ask(clause.parts[0], look));
}

function doubtOf(condition: string, error: unknown): Doubt {
  // The CEL engine's error messages quote the expression below the first line.
  const [reason] = (error instanceof Error ? error.message : String(error)).split("\n");
  return { text: `${condition}: ${reason}`, told: error instanceof Unjudgeable ? reason : null };
}

// An "unsure" clause matters only if no other clause decides: one "no" decides `all` and one "yes" decides `any`,
// whatever the answer of the unsure clauses would have been.

/** Whether all of these hold. */
export function askAll(clauses: readonly Clause[], look: Look): Answer {
  let answer: Answer = "yes";
  for (let nth = 0; nth < clauses.length; nth++) {
    const one = ask(clauses[nth], look);
    if (one === "no") return "no";
    if (one === "unsure") answer = "unsure";
  }
  return answer;
}

function askAny(clauses: readonly Clause[], look: Look): Answer {
  let answer: Answer = "no";
  for (let nth = 0; nth < clauses.length; nth++) {
    const one = ask(clauses[nth], look);
    if (one === "yes") return "yes";
    if (one === "unsure") answer = "unsure";
  }
  return answer;
}

/** The answer of the negated condition. */
export function opposite(answer: Answer): Answer {
  if (answer === "unsure") return "unsure";
  return answer === "yes" ? "no" : "yes";
}

/** One line of an explanation. There is one for each clause, including clauses that do not affect the result. */
export interface Trace {
  readonly condition: Condition;
  readonly answer: Answer;
  /** The value that the condition looked at, formatted for people. */
  readonly saw: string | null;
  /** Why the condition could not be judged. */
  readonly doubt: string | null;
  readonly parts: readonly Trace[];
}

/** Evaluates a clause and every nested clause, and records the value that each looked at. */
export function explain(clause: Clause, look: Look): Trace {
  look.doubt = null;
  const answer = ask(clause, look);
  const doubt = (look.doubt as Doubt | null)?.text ?? null;
  const parts = clause.parts.map((part) => explain(part, look));
  const saw = clause.joined === "leaf" ? sawOf(clause.leaf, look) : null;
  return { condition: clause.condition, answer, saw, doubt: answer === "unsure" ? doubt : null, parts };
}

function sawOf(leaf: Leaf, look: Look): string | null {
  try {
    return leaf.saw(look);
  } catch {
    return null; // the doubt already says that the value cannot be read
  }
}
