import { randomUUID } from "node:crypto";
import { answerKey, refuseToCache, resultFromCache } from "../cache-answer.ts";
import { type Change, problem, removeParam, setAt, setParam, setResult } from "../../action/change.ts";
import { encodeJson } from "../../action/encode.ts";
import { composeEvent, followMessage, readHookVerdict } from "../hook.ts";
import type { Transform } from "../transform/transform.ts";
import { splice } from "../../message/edit.ts";
import { whole } from "../../message/message.ts";
import { traitsOf } from "../action-traits.ts";
import type { CompiledRule } from "../compiled-rule.ts";
import type { ActionOf, Rule, RuleAction } from "../rule.ts";
import type { Field } from "../../message/field.ts";
import type { Json } from "../../message/json.ts";
import { fillKey, fillText } from "../templates.ts";
import type { LimitKey } from "../../store/keys.ts";
import type { Taken } from "../../store/limits.ts";
import { type Maybe, whenKnown } from "../../store/maybe.ts";
import { eraOf } from "../../session/era.ts";
import { hideElements } from "./hide.ts";
import type { ForkWatch } from "./services.ts";
import { apply, detach } from "./rewrite.ts";
import { signalOf, waitFor } from "./wait.ts";
import { BLOCKED, charge, fail, refuse, type Walk } from "./walk.ts";

/** The transforms of a policy by the action they belong to. Each is created once. */
export type Transforms = ReadonlyMap<RuleAction, Transform>;

/** The name of a rule in the audit log. */
export function nameOf({ id }: Rule): string {
  return `rule:${id}`;
}

/** Carries out one action. Returns a promise only if it has to wait for something. */
export function perform(
  walk: Walk,
  compiled: CompiledRule,
  action: RuleAction,
  transforms: Transforms,
): void | Promise<void> {
  const { rule } = compiled;
  const { stop, look, services } = walk;
  const name = nameOf(rule);
  switch (action.does) {
    case "allow":
      walk.isAllowed = true;
      return;
    case "block": {
      const code = action.code ?? BLOCKED;
      const message = fillText(action.reason, look);
      return refuse(walk, name, { code, message, data: { rule: rule.id, action: "block" } });
    }
    case "inject_error": {
      const { code, data } = action;
      const message = fillText(action.message, look);
      // Take the value from its JSON text, because it may contain a number that a double cannot hold.
      const given = data === undefined ? undefined : (JSON.parse(encodeJson(data) ?? "null") as unknown);
      return refuse(walk, name, { code, message, ...(given === undefined ? {} : { data: given }) });
    }
    case "delay":
      return delay(walk, name, action.milliseconds);
    case "set_param":
      return apply(walk, name, inPlace(walk) ?? setParam(stop.message, action.field, action.value));
    case "remove_param":
      return apply(walk, name, inPlace(walk) ?? removeParam(stop.message, action.field));
    case "set_result":
      return changeResult(walk, name, action.field, action.value);
    case "transform": {
      const change = transformed(walk, action, transforms);
      if (change === undefined) return fail(walk, name, "its transform was not loaded");
      return change instanceof Promise ? applyLater(walk, name, change) : apply(walk, name, change);
    }
    case "log":
      return services.report(action.level, name, fillText(action.message, look), describe(walk));
    case "metric":
      return services.metric(action.name, action.value);
    case "webhook":
      if (action.waits) return ask(walk, rule, action);
      return services.tell(action, event(walk, rule, action.includeMessage));
    case "run_script":
      return ask(walk, rule, action);
    case "fork":
      if (stop.message.envelope.kind === "request" && !stop.isInner) walk.forks.push({ action, rule });
      return;
    case "cache":
      return cache(walk, rule, action);
    case "rate_limit":
      return limit(walk, rule, action);
    case "set_state":
      if (!walk.session.note(action.key, action.value === null ? undefined : action.value))
        fail(walk, name, "there is no space left for more state in this session");
      return;
    case "hide":
      return apply(walk, name, hideElements(stop.message, stop.view, compiled, look.work));
  }
}

/** What an action of a rule in observe mode would do; null if it would do nothing. */
export function foresee(
  walk: Walk,
  compiled: CompiledRule,
  action: RuleAction,
  transforms: Transforms,
): Maybe<string | null> {
  switch (traitsOf(action).dryRun) {
    case "nothing":
      return null;
    case "name":
      return action.does;
    case "trial":
      return whenKnown(wouldAct(walk, compiled, action, transforms), (acts) => (acts ? action.does : null));
  }
}

/** Whether an action would refuse or change the message in its current form. */
function wouldAct(walk: Walk, compiled: CompiledRule, action: RuleAction, transforms: Transforms): Maybe<boolean> {
  const { stop, state } = walk;
  if (action.does === "rate_limit") {
    // Counted under a separate key, so that the limit starts from zero once it is enforced.
    const taken = state.limits.take(limitKey(walk, compiled.rule, action, true), action.limit, action.windowMs);
    return whenKnown(taken, ({ allowed }) => !allowed);
  }
  const isHide = action.does === "hide";
  return !changesNothing(
    isHide ? hideElements(stop.message, stop.view, compiled, walk.look.work) : transformed(walk, action, transforms),
  );
}

/**
 * Sends the copies of a message once it is certain that the message is forwarded: later rules, or the tool filter after
 * a change, may have refused it. The `ForkWatch` objects that need the response to the message itself are added to
 * `watches`.
 */
export function sendCopies({ forks, turn, services }: Walk, watches: ForkWatch[]): void {
  for (const { action, rule } of forks) {
    try {
      const watch = services.fork(action, rule, turn, turn.message);
      if (watch !== null) watches.push(watch);
    } catch (error) {
      services.report("warn", nameOf(rule), `no copy was sent: ${String(error)}`);
    }
  }
}

function transformed({ stop: { message, view }, look }: Walk, action: RuleAction, transforms: Transforms) {
  return transforms.get(action)?.(message, { direction: view.direction, method: view.method }, look.work);
}

function changesNothing(change: ReturnType<typeof transformed>): boolean {
  return change !== undefined && "edits" in change && change.edits.length === 0;
}

/** A message inside another one can only be changed where it has params already. */
function inPlace({ stop }: Walk): Change | null {
  const { envelope } = stop.message;
  const isThere = !stop.isInner || !("params" in envelope) || envelope.params !== null;
  return isThere ? null : problem("it has no params");
}

function delay(walk: Walk, name: string, milliseconds: number): Promise<void> {
  detach(walk);
  walk.delayedMs += milliseconds;
  return walk.services.sleep(milliseconds, signalOf(walk)).catch((error: unknown) => fail(walk, name, String(error)));
}

async function applyLater(walk: Walk, name: string, change: Promise<Change>): Promise<void> {
  const done = await waitFor(walk, name, () => change);
  if (done !== undefined) await apply(walk, name, done);
}

/** Changes a response. A request is answered with the given result and not forwarded. */
function changeResult(walk: Walk, name: string, field: Field, value: Json): void | Promise<void> {
  const { stop, ruling } = walk;
  const { kind } = stop.message.envelope;
  if (kind === "result") return apply(walk, name, setResult(stop.message, field, value));
  if (kind !== "request" || stop.isInner) return; // neither a notification nor an error has a result
  const text = encodeJson(value);
  const before = ruling?.verdict.do === "reply" && ruling.isKept !== true ? ruling.verdict.result : EMPTY;
  const span = { start: 0, end: before.length };
  const change = text === null ? problem("the value is not JSON") : setAt(before, span, field.steps, text);
  if ("problem" in change) return fail(walk, name, change.problem);
  walk.ruling = { verdict: { do: "reply", result: splice(whole(before), change.edits) }, rule: name };
}

const EMPTY = Buffer.from("{}");

function event({ stop, turn }: Walk, rule: Rule, withMessage: boolean): Buffer {
  const { method, tool, direction, identity, session, server } = stop.view;
  const about = { id: randomUUID(), time: new Date(), rule: rule.id, direction, method, identity };
  return composeEvent({ ...about, tool: tool ?? null, session: session.id, server }, withMessage ? turn.message : null);
}

/** Asks a webhook or a script, and carries out its decision. */
async function ask(walk: Walk, rule: Rule, action: ActionOf<"webhook"> | ActionOf<"run_script">): Promise<void> {
  const name = nameOf(rule);
  detach(walk);
  const body = event(walk, rule, action.does === "run_script" || action.includeMessage);
  const reply = await waitFor(walk, name, (signal) => walk.services.ask(action, body, signal));
  if (reply === undefined) return;
  if ("failure" in reply) return fail(walk, name, reply.failure);
  const verdict = readHookVerdict(reply.body);
  if ("problem" in verdict) return fail(walk, name, verdict.problem);
  switch (verdict.action) {
    case "allow":
      return;
    case "block": {
      const message = verdict.reason ?? "Blocked by policy";
      return refuse(walk, name, { code: BLOCKED, message, data: { rule: rule.id, action: action.does } });
    }
    case "modify":
      if (walk.stop.isInner) return fail(walk, name, "a message inside another one cannot be changed here");
      return apply(walk, name, followMessage(walk.turn.message, verdict.message));
  }
}

function cache(walk: Walk, rule: Rule, { key, ttlMs, scope }: ActionOf<"cache">): void | Promise<void> {
  const { turn, stop, look, state, settings } = walk;
  const { message, session } = turn;
  const { envelope } = message;
  if (stop.isInner || envelope.kind !== "request" || refuseToCache(message) !== null) return;
  const asked = answerKey({
    key: fillKey(key, look, "exact"),
    rule: rule.id,
    scope,
    server: settings.server,
    era: eraOf(message.bytes, envelope.params),
    method: envelope.method.name,
    subject: turn.opens?.subject ?? null,
    audience: session.audience(),
  });
  if (asked === null) return;
  const known = state.answers.find(asked);
  const found = known instanceof Promise ? waitFor(walk, nameOf(rule), () => known) : known;
  return whenKnown(found, (answer) => {
    if (answer === undefined) {
      walk.caches.push({ key: asked, ttlMs, scope });
      return;
    }
    const result = resultFromCache(answer.answer, answer.ageMs);
    walk.ruling ??= { verdict: { do: "reply", result }, rule: nameOf(rule), isKept: true };
  });
}

function limit(walk: Walk, rule: Rule, action: ActionOf<"rate_limit">): void | Promise<void> {
  const name = nameOf(rule);
  const key = limitKey(walk, rule, action, walk.settings.observe);
  const taken = charge(walk, name, key, action.limit, action.windowMs);
  if (!(taken instanceof Promise)) return heedLimit(walk, rule, taken);
  return waitFor(walk, name, () => taken).then((later) => {
    if (later !== undefined) heedLimit(walk, rule, later);
  });
}

function heedLimit(walk: Walk, rule: Rule, taken: Taken): void {
  if (taken.allowed) return;
  const retryAfter = Math.max(1, Math.ceil(taken.retryAfterMs / 1000));
  const data = { rule: rule.id, action: "rate_limit", retry_after: retryAfter };
  refuse(walk, nameOf(rule), { code: BLOCKED, message: "Rate limit exceeded", data });
}

/** Two limits of a rule may have the same key. They count separately, because their windows differ. */
function limitKey({ look }: Walk, rule: Rule, action: ActionOf<"rate_limit">, watching: boolean): LimitKey {
  const key = fillKey(action.key, look, "alike");
  return { of: "limit", owner: "rule", id: rule.id, nth: rule.actions.indexOf(action), watching, key };
}

/** The fields of a log line in addition to its text. */
function describe({ stop: { view } }: Walk): Readonly<Record<string, string>> {
  const fields: Record<string, string> = {};
  if (view.method !== null) fields["method"] = view.method;
  if (typeof view.tool === "string") fields["tool"] = view.tool.slice(0, MAX_SHOWN);
  return fields;
}

const MAX_SHOWN = 200;
