import { fold, foldName } from "../../message/fold.ts";
import { showText } from "../../message/text.ts";
import type { Taken } from "../../store/limits.ts";
import type { Step, StepAnswer } from "../chain/step.ts";
import { whenKnown } from "../../store/maybe.ts";
import { blocked } from "./blocked.ts";

/** The restrictions on tool calls. */
export interface ToolCallOptions {
  /** Null for all tools. */
  readonly allowedTools: readonly string[] | null;
  /** The limit of calls for each tool; null for no limit. */
  readonly perMinute: number | null;
}

const NAME = "ToolCallInterceptor";
const MINUTE_MS = 60_000;
const MAX_SHOWN = 256;

/** Allows calls of the allowed tools only, and limits the calls of each. */
export function createToolCallStep({ allowedTools, perMinute }: ToolCallOptions): Step {
  const allowed = allowedTools === null ? null : new Set(allowedTools);
  return {
    name: `interceptor:${NAME}`,
    concerns: (moment, method) => moment === "said" && method === "tools/call",
    intercept({ view }, { charge }) {
      const tool = view.tool ?? "";
      if (allowed !== null && !allowed.has(tool))
        return blocked(NAME, `Tool '${showText(tool, MAX_SHOWN)}' not allowed`);
      if (perMinute === null) return null;
      // A name in other letter case counts against the same limit.
      return whenKnown(charge(foldName(tool) ?? fold(tool), perMinute, MINUTE_MS), answer);
    },
  };
}

function answer(taken: Taken): StepAnswer {
  if (taken.allowed) return null;
  return blocked(NAME, "Rate limit exceeded", { retry_after: Math.max(1, Math.ceil(taken.retryAfterMs / 1000)) });
}
