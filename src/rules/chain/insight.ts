import type { Moment } from "../guess.ts";
import type { RuleIndex } from "../rule-index.ts";
import type { Turn } from "../../session/turn.ts";
import type { Step } from "./step.ts";

/**
 * Creates a test whether a rule or interceptor concerns the messages inside a message like this one. `always` is set if
 * the policy blocks by default, so that every input request of a server must be judged.
 */
export function createInsight(index: RuleIndex, steps: readonly Step[], always: boolean): (turn: Turn) => boolean {
  const isAsked = (moment: Moment, direction: "up" | "down", method: string | null): boolean =>
    index.find({ moment, direction, method, tool: undefined }).length > 0 ||
    steps.some((step) => step.concerns(moment, method));
  const asksUp = INSIDE.some((method) => isAsked("answered", "up", method));
  const asksDown = always || INSIDE.some((method) => isAsked("said", "down", method));
  return ({ message, answers }) => {
    const { envelope, direction } = message;
    if (envelope.kind === "result") {
      if (answers === undefined) return false;
      if (TASKS.test(answers.method.name)) return true;
      return direction === "down" && asksDown;
    }
    if (envelope.kind !== "request" && envelope.kind !== "notification") return false;
    return TASKS.test(envelope.method.name) || (direction === "up" && asksUp && envelope.kind === "request");
  };
}

/** The methods of input requests in results since 2026-07-28; null for any other method. */
const INSIDE = ["sampling/createMessage", "elicitation/create", "roots/list", null];
const TASKS = /^(?:notifications\/)?tasks(?:\/|$)/;
