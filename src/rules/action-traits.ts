import type { ActionOf, Rule, RuleAction, Template } from "./rule.ts";

/**
 * The properties of an action that hold in every rule. Code that treats some actions differently asks here instead of
 * keeping a list of its own.
 */
export interface ActionTraits {
  /**
   * How the action affects the message. An action that `decides` can refuse, change or allow it. One that works
   * `beside` it (a copy, a state entry) cannot. One that only `observes` is also carried out for refused messages.
   */
  readonly part: "decides" | "beside" | "observes";
  /**
   * What the action ends: `judging`, because the message passes, or the `message`, because it is refused. Null if
   * further actions and rules follow.
   */
  readonly ends: "judging" | "message" | null;
  /** Whether it may refuse a request that could be answered from the cache. */
  readonly canRefuse: boolean;
  /**
   * What the action works on: a request that is not forwarded yet, or the list in a response. Null if it works on any
   * message.
   */
  readonly needs: "request" | "list" | null;
  /** What the message waits for: a time set by the rule, or a response from outside, which has a timeout. */
  readonly waitsFor: "time" | "answer" | null;
  /**
   * What a rule in observe mode reports for the action: `nothing`; its `name`; or its name if a `trial` shows that it
   * would refuse or change the message.
   */
  readonly dryRun: "nothing" | "name" | "trial";
}

/** The traits of an action, given its settings. */
export function traitsOf(action: RuleAction): ActionTraits {
  if (action.does === "webhook" && !action.waits) return UNANSWERED_WEBHOOK;
  if (action.does === "transform" && action.transform.kind === "module") return MODULE_TRANSFORM;
  return TRAITS[action.does];
}

/** Whether an action only observes. Such actions are also carried out for refused messages. */
export function isWatching(action: RuleAction): boolean {
  return traitsOf(action).part === "observes";
}

/** Whether an action can refuse, change or allow a message. */
export function isDeciding(action: RuleAction): boolean {
  return traitsOf(action).part === "decides";
}

/** Whether an action refuses every message that it is carried out for. */
export function alwaysRefuses(action: RuleAction): boolean {
  return traitsOf(action).ends === "message";
}

/** Whether a rule removes elements from lists. Its conditions are then tested for each element, not for the list. */
export function hidesElements({ actions }: Pick<Rule, "actions">): boolean {
  return actions.some((action) => traitsOf(action).needs === "list");
}

/** Whether an action waits for a response from outside, and so has a timeout. */
export function asksOutside(action: RuleAction): action is ActionOf<"webhook"> | ActionOf<"run_script"> {
  return traitsOf(action).waitsFor === "answer";
}

/** The templates among the settings of an action. */
export function templatesIn(action: RuleAction): readonly Template[] {
  switch (action.does) {
    case "block":
      return [action.reason];
    case "inject_error":
    case "log":
      return [action.message];
    case "cache":
    case "rate_limit":
      return [action.key];
    case "allow":
    case "delay":
    case "set_param":
    case "set_result":
    case "remove_param":
    case "transform":
    case "metric":
    case "webhook":
    case "run_script":
    case "fork":
    case "set_state":
    case "hide":
      return [];
  }
}

const DECIDES: ActionTraits = {
  part: "decides",
  ends: null,
  canRefuse: false,
  needs: null,
  waitsFor: null,
  dryRun: "name",
};
const OBSERVES: ActionTraits = { ...DECIDES, part: "observes", dryRun: "nothing" };

/**
 * The traits of each action with the settings that give it the most effect. `traitsOf` handles settings that give it
 * less.
 */
export const TRAITS: Readonly<Record<RuleAction["does"], ActionTraits>> = {
  allow: { ...DECIDES, ends: "judging" },
  block: { ...DECIDES, ends: "message", canRefuse: true },
  inject_error: { ...DECIDES, ends: "message", canRefuse: true },
  delay: { ...DECIDES, waitsFor: "time" },
  set_param: { ...DECIDES, needs: "request" },
  remove_param: { ...DECIDES, needs: "request" },
  set_result: DECIDES,
  transform: { ...DECIDES, dryRun: "trial" },
  hide: { ...DECIDES, needs: "list", dryRun: "trial" },
  log: OBSERVES,
  metric: OBSERVES,
  webhook: { ...DECIDES, canRefuse: true, waitsFor: "answer" },
  run_script: { ...DECIDES, canRefuse: true, waitsFor: "answer" },
  // A request that is answered from the cache is not counted, so a limit cannot refuse it.
  rate_limit: { ...DECIDES, needs: "request", dryRun: "trial" },
  cache: { ...DECIDES, needs: "request" },
  fork: { ...DECIDES, part: "beside", needs: "request" },
  set_state: { ...DECIDES, part: "beside" },
};

const UNANSWERED_WEBHOOK: ActionTraits = OBSERVES;

/** A trial does not run the code of a user's module. */
const MODULE_TRANSFORM: ActionTraits = DECIDES;
