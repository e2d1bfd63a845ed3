import type { LimitKey } from "../../store/keys.ts";
import { hold } from "./hold.ts";
import type { Step, StepAnswer, StepContext } from "./step.ts";
import { apply, detach } from "./rewrite.ts";
import { inOrder, signalOf, waitFor } from "./wait.ts";
import { bareName, charge, fail, failBy, isOver, note, refuse, type Walk } from "./walk.ts";

/** Runs the interceptors that a message concerns, one after another or all at once. */
export function runSteps(walk: Walk, some: readonly Step[], together: boolean): void | Promise<void> {
  if (some.length === 0) return;
  const { moment, view } = walk.stop;
  const concerned = some.filter((step) => step.concerns(moment, view.method));
  if (concerned.length === 0) return;
  if (together && concerned.length > 1) return runTogether(walk, concerned);
  return inOrder(
    () => (isOver(walk) ? 0 : concerned.length),
    (nth) => runStep(walk, concerned[nth]),
  );
}

function runStep(walk: Walk, step: Step): void | Promise<void> {
  try {
    const answer = step.intercept(walk.stop, contextOf(walk, step));
    if (!(answer instanceof Promise)) return follow(walk, step, answer);
    return waitFor(walk, step.name, () => answer).then((heard) => {
      if (heard !== undefined) return follow(walk, step, heard);
    });
  } catch (error) {
    failBy(walk, step.name, error);
  }
}

/** All interceptors see the same message. Only one of them may change it. */
async function runTogether(walk: Walk, some: readonly Step[]): Promise<void> {
  detach(walk);
  const { stop } = walk;
  const answers = await Promise.all(
    some.map((step) => waitFor(walk, step.name, async () => step.intercept(stop, contextOf(walk, step)))),
  );
  let hasChanged = false;
  for (const [nth, answer] of answers.entries()) {
    if (answer === undefined || answer === null) continue;
    const changes = "change" in answer && !("edits" in answer.change && answer.change.edits.length === 0);
    if (changes && hasChanged)
      return fail(walk, some[nth].name, "two interceptors that ran at the same time both changed the message");
    hasChanged ||= changes;
    await follow(walk, some[nth], answer);
    if (walk.isAnew) return; // the others have judged the earlier version of the message
  }
}

function follow(walk: Walk, step: Step, answer: StepAnswer): void | Promise<void> {
  if (answer === null) return;
  if ("hold" in answer) return hold(walk, step.name, answer.hold);
  if (walk.settings.observe) return note(walk, "refusal" in answer ? "block" : "change", step.name);
  if ("refusal" in answer) refuse(walk, step.name, answer.refusal);
  else return apply(walk, step.name, answer.change);
}

function contextOf(walk: Walk, { name }: Step): StepContext {
  return {
    session: walk.session,
    signal: () => signalOf(walk),
    charge(key, limit, windowMs) {
      const { observe: watching } = walk.settings;
      const own: LimitKey = { of: "limit", owner: "interceptor", id: bareName(name), nth: 0, watching, key };
      return charge(walk, name, own, limit, windowMs);
    },
  };
}
