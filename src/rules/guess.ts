import type { Direction } from "../message/message.ts";
import { type Answer, opposite } from "./conditions.ts";
import type { Condition } from "./rule.ts";

/** When a rule is judged: "said" for requests and notifications, "answered" for responses. */
export type Moment = "said" | "answered";

/** What is known about a message before its body is read. */
export interface Gist {
  readonly moment: Moment;
  readonly direction: Direction;
  readonly method: string | null;
  /** Undefined if the tool is not known: then rules for any tool may match. */
  readonly tool: string | null | undefined;
}

/** The answer of a condition as far as method, direction and tool decide it; otherwise "unsure". */
export function guess(condition: Condition, gist: Gist): Answer {
  const { method, tool } = gist;
  switch (condition.is) {
    case "method_equals":
      return when(method === condition.text);
    case "method_starts_with":
      return when(method?.startsWith(condition.text) ?? false);
    case "method_ends_with":
      return when(method?.endsWith(condition.text) ?? false);
    case "method_in":
      return when(method !== null && condition.texts.has(method));
    case "method_matches":
      return method === null ? "no" : attempt(() => condition.pattern.test(method));
    case "direction":
      return when(condition.direction === gist.direction);
    case "tool_matches":
      if (tool === undefined) return "unsure";
      return tool === null ? "no" : attempt(() => condition.pattern.test(tool));
    case "param_equals":
      return isToolName(condition.field.steps, gist) ? when(condition.value === tool) : "unsure";
    case "param_in":
      return isToolName(condition.field.steps, gist)
        ? when(condition.values.some((value) => value === tool))
        : "unsure";
    case "all":
      return guessAll(condition.conditions, gist);
    case "any":
      return opposite(guessAll(condition.conditions.map(negated), gist));
    case "not":
      return opposite(guess(condition.condition, gist));
    case "param_exists":
    case "param_is_null":
    case "param_is_array":
    case "param_matches":
    case "param_greater_than":
    case "param_less_than":
    case "param_within":
    case "touches":
    case "result_exists":
    case "result_equals":
    case "result_matches":
    case "error_code_equals":
    case "error_message_contains":
    case "session_id_equals":
    case "session_age_greater_than":
    case "calls_so_far":
    case "state_equals":
    case "client_matches":
    case "identity_matches":
    case "cel":
      return "unsure";
  }
}

function negated(condition: Condition): Condition {
  return { is: "not", condition };
}

/** The same for a list of conditions that must all hold. */
export function guessAll(conditions: readonly Condition[], gist: Gist): Answer {
  let all: Answer = "yes";
  for (const condition of conditions) {
    const answer = guess(condition, gist);
    if (answer === "no") return "no";
    if (answer === "unsure") all = "unsure";
  }
  return all;
}

/** Whether a field is the name of the called tool, and that name is known. */
function isToolName(steps: readonly (string | number)[], { method, tool }: Gist): boolean {
  return method === "tools/call" && typeof tool === "string" && steps.length === 1 && steps[0] === "name";
}

function when(holds: boolean): Answer {
  return holds ? "yes" : "no";
}

function attempt(test: () => boolean): Answer {
  try {
    return when(test());
  } catch {
    return "unsure";
  }
}
