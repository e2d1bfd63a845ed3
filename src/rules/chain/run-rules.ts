import type { Maybe } from "../../store/maybe.ts";
import type { CompiledRule } from "../compiled-rule.ts";
import { askCandidate, type Candidate, type RuleIndex } from "../rule-index.ts";
import type { Doubt } from "../view.ts";
import { alwaysRefuses, isDeciding, isWatching, traitsOf } from "../action-traits.ts";
import { foresee, nameOf, perform, type Transforms } from "./actions.ts";
import { following, isHiding, isOwnReply } from "./candidates.ts";
import { gistOf } from "./stop.ts";
import { inOrder, inTime } from "./wait.ts";
import { complain, fail, failBy, isOver, note, type Walk } from "./walk.ts";

/** Creates the function that judges the current stop by the rules of a policy and carries out their actions. */
export function createRuleRunner(index: RuleIndex, transforms: Transforms): (walk: Walk) => void | Promise<void> {
  /** Most rules do not match. The loop skips them without creating a closure for each. */
  function runFrom(walk: Walk, candidates: readonly Candidate[], from: number): void | Promise<void> {
    if (isOver(walk)) return;
    let { look, stop } = walk;
    for (let nth = from; nth < candidates.length; nth++) {
      const candidate = candidates[nth];
      // The hide action itself judges the conditions, for each element of the list.
      const answer = stop.isList && isHiding(candidate.compiled) ? "yes" : askCandidate(candidate, look);
      if (answer === "no") continue;
      const { tool } = stop.view;
      const wait = runRule(walk, candidate, answer);
      if (wait !== undefined) return wait.then(() => goOn(walk, candidates, nth, tool));
      if (walk.stop.view.tool !== tool) return goOn(walk, candidates, nth, tool);
      if (isOver(walk)) return;
      ({ look, stop } = walk);
    }
  }

  function goOn(
    walk: Walk,
    candidates: readonly Candidate[],
    nth: number,
    tool: string | null | undefined,
  ): void | Promise<void> {
    if (walk.stop.view.tool === tool) return runFrom(walk, candidates, nth + 1);
    // The message now calls another tool: continue with the rules for that tool.
    return runFrom(walk, following(candidates[nth], index.find(gistOf(walk.stop))), 0);
  }

  function runRule(walk: Walk, { compiled }: Candidate, answer: "yes" | "unsure"): void | Promise<void> {
    const { rule } = compiled;
    const { settings } = walk;
    const hides = walk.stop.isList && isHiding(compiled);
    // A rule that only observes does not count as a match that lets the message pass.
    if (rule.mode === "on" && !hides) walk.hasMatched ||= rule.actions.some(isDeciding);
    if (settings.observe || rule.mode === "observe") return watchFrom(walk, compiled, answer, 0);
    if (answer === "unsure") {
      const { text, told } = walk.look.doubt ?? UNKNOWN_DOUBT;
      if (rule.actions.some((action) => !isWatching(action))) return fail(walk, nameOf(rule), text, told);
      // A rule that only observes would not have refused the message either.
      return complain(walk, nameOf(rule), text);
    }
    return inOrder(
      () => (walk.isStopped || walk.isAnew ? 0 : rule.actions.length),
      (nth) => runAction(walk, compiled, nth),
    );
  }

  function runAction(walk: Walk, compiled: CompiledRule, nth: number): void | Promise<void> {
    const { rule } = compiled;
    const action = rule.actions[nth];
    // The response comes from the cache, so the only remaining effect an action can have is to refuse the request.
    if (walk.ruling?.isKept === true && !traitsOf(action).canRefuse && !isWatching(action)) return;
    const isDone =
      walk.isAllowed || (walk.ruling !== null && walk.ruling.isKept !== true && !isOwnReply(walk, compiled));
    if (isDone && !isWatching(action)) {
      const isWorse = !walk.settings.failFast && alwaysRefuses(action);
      if (walk.isAllowed || !isWorse) return;
    }
    try {
      const wait = perform(walk, compiled, action, transforms);
      if (wait !== undefined) return wait.catch((error: unknown) => failBy(walk, nameOf(rule), error));
    } catch (error) {
      failBy(walk, nameOf(rule), error);
    }
  }

  /** Notes what a rule would have done: the first of its actions that would have had an effect. */
  function watchFrom(walk: Walk, compiled: CompiledRule, answer: "yes" | "unsure", nth: number): void | Promise<void> {
    const { rule } = compiled;
    for (let next = nth; next < rule.actions.length; next++) {
      const would = answer === "unsure" ? "block" : foreseeSafely(walk, compiled, next);
      if (would instanceof Promise)
        return inTime(walk, () => would)
          .catch(() => "block")
          .then((known) => {
            if (known === null) return watchFrom(walk, compiled, answer, next + 1);
            note(walk, known, nameOf(rule));
          });
      if (would !== null) return note(walk, would, nameOf(rule));
    }
    walk.services.count("would", { action: "match", rule: nameOf(rule) });
  }

  function foreseeSafely(walk: Walk, compiled: CompiledRule, nth: number): Maybe<string | null> {
    try {
      return foresee(walk, compiled, compiled.rule.actions[nth], transforms);
    } catch {
      return "block";
    }
  }

  return (walk) => runFrom(walk, index.find(gistOf(walk.stop)), 0);
}

const UNKNOWN_DOUBT: Doubt = { text: "a condition could not be judged", told: null };
