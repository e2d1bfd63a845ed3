import type { ActionOf, Rule, RuleAction, Template } from "./rule.ts";

/** What holds for an action in every rule. Code that treats some actions differently asks here and keeps no list. */
export interface ActionTraits {
  /**
   * Its part in what becomes of a message. One that `decides` has a say in it. One that is done `beside` it (a copy, a note in
   * the session) has not. One that only `observes` is carried out for refused messages, too.
   */
  readonly part: "decides" | "beside" | "observes";
  /** What is over after it: judging, because the message passes, or the message, which is refused. Null where more follows. */
  readonly ends: "judging" | "message" | null;
  /** Whether it may refuse a request that could be answered from the cache. */
  readonly canRefuse: boolean;
  /** What it works on: a request that is not forwarded yet, or the list in a response. Null where it works on anything. */
  readonly needs: "request" | "list" | null;
  /** What the message waits for: a time that the rule sets, or an answer from outside that has a timeout. */
  readonly waitsFor: "time" | "answer" | null;
  /**
   * What a rule that only observes reports for it: `nothing`; its `name`; or its name after a `trial` has shown that it would
   * refuse or change the message.
   */
  readonly dryRun: "nothing" | "name" | "trial";
}

/** The traits of an action with its settings. */
export function traitsOf(action: RuleAction): ActionTraits {
  if (action.does === "webhook" && !action.waits) return UNANSWERED_WEBHOOK;
  if (action.does === "transform" && action.transform.kind === "module") return MODULE_TRANSFORM;
  return TRAITS[action.does];
}

/** Whether an action only observes: such are also carried out for a message that is refused. */
export function isWatching(action: RuleAction): boolean {
  return traitsOf(action).part === "observes";
}

/** Whether an action has a part in what becomes of a message. */
export function isDeciding(action: RuleAction): boolean {
  return traitsOf(action).part === "decides";
}

/** Whether an action refuses whatever it is carried out for. */
export function alwaysRefuses(action: RuleAction): boolean {
  return traitsOf(action).ends === "message";
}

/** Whether a rule removes elements from lists. Its conditions are then about each element, and not about the list. */
export function hidesElements({ actions }: Pick<Rule, "actions">): boolean {
  return actions.some((action) => traitsOf(action).needs === "list");
}

/** Whether an action waits for an answer from outside, and has a timeout for it. */
export function asksOutside(action: RuleAction): action is ActionOf<"webhook"> | ActionOf<"run_script"> {
  return traitsOf(action).waitsFor === "answer";
}

/** The texts with variables that an action has. */
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

/** Each action with the settings that make it do most. `traitsOf` knows the settings by which it does less. */
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

/** Other people's code is not run for a trial. */
const MODULE_TRANSFORM: ActionTraits = DECIDES;
