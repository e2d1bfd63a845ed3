import { type CompiledRule, explainRule, type Moment } from "../policy/rules/compiled-rule.ts";
import type { Answer, Trace } from "../policy/rules/conditions.ts";
import { beginLook } from "../policy/rules/view.ts";
import type { Turn } from "../session/turn.ts";
import type { ChainState } from "./state.ts";
import { innerStops, outerStop, type Stop } from "./stop.ts";

/** What one rule makes of a message. */
export interface RuleExplanation {
  readonly compiled: CompiledRule;
  /** Whether it matches; or why it was not even asked. */
  readonly answer: Answer | "off" | "other-direction" | "when-answered" | "when-said";
  /** Each of its conditions, whether it was needed or not. */
  readonly traces: readonly Trace[];
}

/** What all rules make of a message, or of one inside of it. */
export interface StopExplanation {
  readonly moment: Moment;
  readonly method: string | null;
  readonly tool: string | null;
  readonly isInner: boolean;
  /** In the order in which they are asked. */
  readonly rules: readonly RuleExplanation[];
}

/** Asks every rule, and says what each saw. Nothing is done. */
export function explainTurn(rules: readonly CompiledRule[], turn: Turn, state: ChainState): StopExplanation[] {
  const { kind } = turn.message.envelope;
  if (kind === "batch" || kind === "opaque") return [];
  const session = state.sessions.of(turn.session.scope);
  const inner = innerStops(turn, session, state);
  const ordered = [...rules].sort((one, other) => other.rule.priority - one.rule.priority || one.order - other.order);
  return [outerStop(turn, session), ...(inner === "unclear" ? [] : inner)].map((stop) => ({
    moment: stop.moment,
    method: stop.view.method,
    tool: stop.view.tool ?? null,
    isInner: stop.isInner,
    rules: ordered.map((compiled) => explainStop(compiled, stop)),
  }));
}

function explainStop(compiled: CompiledRule, stop: Stop): RuleExplanation {
  const { rule, moment } = compiled;
  const nothing = { compiled, traces: [] };
  if (rule.mode === "off") return { ...nothing, answer: "off" };
  if (moment !== stop.moment) return { ...nothing, answer: moment === "answered" ? "when-answered" : "when-said" };
  if (rule.direction !== null && rule.direction !== stop.view.direction)
    return { ...nothing, answer: "other-direction" };
  const traces = explainRule(compiled, beginLook(stop.view));
  return { compiled, traces, answer: joined(traces.map(({ answer }) => answer)) };
}

function joined(answers: readonly Answer[]): Answer {
  if (answers.includes("no")) return "no";
  return answers.includes("unsure") ? "unsure" : "yes";
}
