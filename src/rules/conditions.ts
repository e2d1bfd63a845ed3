import type { Leaf } from "./leaf.ts";
import { type CompileContext, compileLeaf } from "./leaves.ts";
import type { Condition } from "./rule.ts";
import { Unjudgeable } from "./unjudgeable.ts";
import type { Doubt, Look } from "./view.ts";

/** Whether a condition holds. It is unsure where it could not be judged, and nothing else decides. */
export type Answer = "yes" | "no" | "unsure";

/** A condition, ready to be asked, with those that are in it. */
export interface Clause {
  readonly condition: Condition;
  readonly joined: "all" | "any" | "not" | "leaf";
  readonly parts: readonly Clause[];
  /** What it asks itself, where it has no parts. */
  readonly leaf: Leaf;
}

/** Gets conditions ready. */
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

/** Whether a condition holds. Never throws, and asks no more than it needs. */
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
  // The engine for expressions draws a picture below its first line.
  const [reason] = (error instanceof Error ? error.message : String(error)).split("\n");
  return { text: `${condition}: ${reason}`, told: error instanceof Unjudgeable ? reason : null };
}

// A clause that is unsure does not decide where another one does: one "no" is enough for all, one
// "yes" for any, whatever the doubtful ones would have said.

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

/** What the opposite of a condition answers. */
export function opposite(answer: Answer): Answer {
  if (answer === "unsure") return "unsure";
  return answer === "yes" ? "no" : "yes";
}

/** One line of an explanation, for each clause whether it was needed or not. */
export interface Trace {
  readonly condition: Condition;
  readonly answer: Answer;
  /** What it looked at, as it is shown to people. */
  readonly saw: string | null;
  /** Why it could not be judged. */
  readonly doubt: string | null;
  readonly parts: readonly Trace[];
}

/** Asks a clause and everything in it, and says what each saw. */
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
    return null; // what cannot be looked at has been said to be so
  }
}
