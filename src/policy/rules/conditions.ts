import { type CompileContext, compileLeaf } from "./leaves.ts";
import type { Condition } from "./rule.ts";
import type { Look } from "./view.ts";

/** Whether a condition holds. It is unsure where it could not be judged, and nothing else decides. */
export type Answer = "yes" | "no" | "unsure";

/** A condition, ready to be asked, with those that are in it. */
export interface Clause {
  readonly condition: Condition;
  readonly parts: readonly Clause[];
  /** Never throws. Asks no more of its parts than it needs. */
  ask(look: Look): Answer;
  /** What it looked at, for people; null where it looked at nothing itself. */
  saw(look: Look): string | null;
}

/** Conditions that must all hold. Without any the answer is yes. */
export function compileConditions(conditions: readonly Condition[], context: CompileContext): Clause {
  return compile({ is: "all", conditions }, context);
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
  const answer = clause.ask(look);
  const { doubt } = look;
  const parts = clause.parts.map((part) => explain(part, look));
  let saw: string | null;
  try {
    saw = clause.saw(look);
  } catch {
    saw = null; // what cannot be looked at has been said to be so
  }
  return { condition: clause.condition, answer, saw, doubt: answer === "unsure" ? doubt : null, parts };
}

function compile(condition: Condition, context: CompileContext): Clause {
  if ("conditions" in condition) {
    const parts = condition.conditions.map((part) => compile(part, context));
    const ask = condition.is === "all" ? askAll(parts) : askAny(parts);
    return { condition, parts, ask, saw: () => null };
  }
  if ("condition" in condition) {
    const part = compile(condition.condition, context);
    return { condition, parts: [part], ask: (look) => opposite(part.ask(look)), saw: () => null };
  }
  const { test, saw } = compileLeaf(condition, context);
  return {
    condition,
    parts: [],
    ask(look) {
      try {
        return test(look) ? "yes" : "no";
      } catch (error) {
        look.doubt ??= `${condition.is}: ${error instanceof Error ? error.message : String(error)}`;
        return "unsure";
      }
    },
    saw,
  };
}

// A clause that is unsure does not decide where another one does: one "no" is enough for all, one
// "yes" for any, whatever the doubtful ones would have said.

function askAll(parts: readonly Clause[]): Clause["ask"] {
  return (look) => {
    let answer: Answer = "yes";
    for (const part of parts) {
      const one = part.ask(look);
      if (one === "no") return "no";
      if (one === "unsure") answer = "unsure";
    }
    return answer;
  };
}

function askAny(parts: readonly Clause[]): Clause["ask"] {
  return (look) => {
    let answer: Answer = "no";
    for (const part of parts) {
      const one = part.ask(look);
      if (one === "yes") return "yes";
      if (one === "unsure") answer = "unsure";
    }
    return answer;
  };
}

/** What the opposite of a condition answers. */
export function opposite(answer: Answer): Answer {
  if (answer === "unsure") return "unsure";
  return answer === "yes" ? "no" : "yes";
}
