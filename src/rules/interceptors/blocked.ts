import type { StepAnswer } from "../chain/step.ts";
import { BLOCKED } from "../chain/walk.ts";

/** A refusal by an interceptor. */
export function blocked(
  name: string,
  message: string,
  more: Readonly<Record<string, unknown>> = {},
  code: number = BLOCKED,
): StepAnswer {
  return { refusal: { code, message, data: { rule: name, action: "block", ...more } } };
}
