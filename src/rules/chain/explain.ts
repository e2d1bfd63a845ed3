import { hidesElements } from "../action-traits.ts";
import { type CompiledRule, explainRule } from "../compiled-rule.ts";
import type { Moment } from "../guess.ts";
import type { Answer, Trace } from "../conditions.ts";
import { beginLook } from "../view.ts";
import { beginWork } from "../work.ts";
import type { Turn } from "../../session/turn.ts";
import { judgeElements } from "./hide.ts";
import type { ChainState } from "../../store/state.ts";
import { createRecall } from "./recall.ts";
import { findInner, innerStops, outerStop, type Stop } from "./stop.ts";

/** The result of one rule for a message. */
export interface RuleExplanation {
  readonly compiled: CompiledRule;
  /** Whether the rule matches, or why it was not judged. */
  readonly answer: Answer | "off" | "other-direction" | "when-answered" | "when-said";
  /**
   * Every condition of the rule, including those that do not affect the result. If the rule hides elements of a list,
   * the conditions for one element.
   */
  readonly traces: readonly Trace[];
  /** The result for each element of a list; null if the rule does not hide elements. */
  readonly elements: ListExplanation | null;
}

/** The results of a rule that hides, for the elements of a list. */
export interface ListExplanation {
  /** The name of each element, and whether the rule hides it. */
  readonly judged: readonly { readonly name: string | null; readonly isHidden: boolean }[];
  /** The name of the element whose conditions are shown: the first hidden one, or else the first of all. */
  readonly shown: string | null;
}

/** The results of all rules for a message, or for a message inside it. */
export interface StopExplanation {
  readonly moment: Moment;
  readonly method: string | null;
  readonly tool: string | null;
  readonly isInner: boolean;
  /** In the order in which they are judged. */
  readonly rules: readonly RuleExplanation[];
}

/** Judges every rule and records what each condition looked at. No action is carried out. */
export async function explainTurn(
  rules: readonly CompiledRule[],
  turn: Turn,
  state: ChainState,
): Promise<StopExplanation[]> {
  const { kind } = turn.message.envelope;
  if (kind === "batch" || kind === "opaque") return [];
  const session = await state.sessions.load(turn.session.scope);
  const found = findInner(turn);
  const recall = createRecall(state);
  await recall.load(turn, found);
  const inner = found === "unclear" ? [] : innerStops(turn, found, session, recall, null);
  const ordered = [...rules].sort((one, other) => other.rule.priority - one.rule.priority || one.order - other.order);
  return [outerStop(turn, session, null), ...inner].map((stop) => ({
    moment: stop.moment,
    method: stop.view.method,
    tool: stop.view.tool ?? null,
    isInner: stop.isInner,
    rules: ordered.map((compiled) => explainStop(compiled, stop)),
  }));
}

function explainStop(compiled: CompiledRule, stop: Stop): RuleExplanation {
  const { rule, moment } = compiled;
  const nothing = { compiled, traces: [], elements: null };
  if (rule.mode === "off") return { ...nothing, answer: "off" };
  if (moment !== stop.moment) return { ...nothing, answer: moment === "answered" ? "when-answered" : "when-said" };
  if (rule.direction !== null && rule.direction !== stop.view.direction)
    return { ...nothing, answer: "other-direction" };
  if (stop.isList && hidesElements(rule)) return explainHiding(compiled, stop);
  const traces = explainRule(compiled, beginLook(stop.view));
  return { compiled, traces, elements: null, answer: joined(traces.map(({ answer }) => answer)) };
}

/** A rule that hides is judged for each element, not for the list. */
function explainHiding(compiled: CompiledRule, { message, view }: Stop): RuleExplanation {
  const lists = judgeElements(message, view, compiled, beginWork());
  if (lists === "unclear") return { compiled, traces: [], elements: null, answer: "unsure" };
  const judged = lists.flat();
  const shown = judged.find(({ isHidden }) => isHidden) ?? judged.at(0);
  const traces = shown === undefined || shown.view === null ? [] : explainRule(compiled, beginLook(shown.view));
  const answer = judged.some(({ isHidden }) => isHidden) ? "yes" : "no";
  const names = judged.map(({ name, isHidden }) => ({ name, isHidden }));
  return { compiled, traces, answer, elements: { judged: names, shown: shown?.name ?? null } };
}

function joined(answers: readonly Answer[]): Answer {
  if (answers.includes("no")) return "no";
  return answers.includes("unsure") ? "unsure" : "yes";
}
