import type { WireError } from "../../message/compose.ts";
import type { Message } from "../../message/message.ts";
import type { Verdict } from "../../policy/verdict.ts";
import type { Look } from "../view.ts";
import type { ActionOf, Rule } from "../rule.ts";
import type { ChainSettings } from "../settings.ts";
import { Unjudgeable } from "../unjudgeable.ts";
import type { SessionRecord } from "../../store/sessions.ts";
import type { Call } from "../../session/call.ts";
import type { Turn } from "../../session/turn.ts";
import { isSameLimit, type LimitKey } from "../../store/keys.ts";
import type { Taken } from "../../store/limits.ts";
import type { Maybe } from "../../store/maybe.ts";
import type { CacheNote } from "./memo.ts";
import type { ChainServices } from "./services.ts";
import type { ChainState } from "../../store/state.ts";
import type { Recall } from "./recall.ts";
import type { Stop } from "./stop.ts";

/** The settings of the chain, from the policy file and from the proxy. */
export interface WalkSettings extends ChainSettings {
  /** Whether all rules only observe. */
  readonly observe: boolean;
  /** The name of the server, so that its cached responses are kept apart from those of other servers. */
  readonly server: string;
}

/** The state of one message while the chain judges it. */
export interface Walk {
  readonly settings: WalkSettings;
  /** The name of the chain if it runs beside another one. */
  readonly chain: string | null;
  readonly state: ChainState;
  readonly services: ChainServices;
  /** The record of its session. An empty record if it could not be loaded. */
  session: SessionRecord;
  /** The call that the message opens, as the session's own object. */
  readonly call: Call | undefined;
  turn: Turn;
  /** What is being judged: the message itself, or one inside it. */
  stop: Stop;
  look: Look;
  /** The index of the current stop among the inner ones; -1 for the message itself. */
  inner: number;
  /** The inner stops that were found last, and the version of the message in which they were found. */
  inside: { readonly message: Message; readonly stops: readonly Stop[] | "unclear" } | null;
  /** What the store knows about the inner messages; null until it is needed. */
  recall: Recall | null;
  /** How many bytes were written for changes. */
  rewritten: number;
  /** The decision; null as long as the message is to be forwarded. */
  ruling: Ruling | null;
  /** Whether a rule has ended the judging of the current stop with `allow`. */
  isAllowed: boolean;
  /** Whether the decision is not needed any more. */
  isStopped: boolean;
  /** Whether a person has changed the message, so that it has to be judged from the beginning. */
  isAnew: boolean;
  /** The rules and interceptors that have held the current version of the message. They do not hold it again. */
  heldBy: ReadonlySet<string>;
  /** Whether a deciding rule has matched at the current stop. */
  hasMatched: boolean;
  /** The rule or interceptor that changed the message last. */
  changedBy: string | null;
  readonly notes: string[];
  readonly caches: CacheNote[];
  readonly charged: LimitKey[];
  /** The copies to send if the message itself is forwarded. */
  readonly forks: { readonly action: ActionOf<"fork">; readonly rule: Rule }[];
  /** Limits that have counted this call already and do not count it again. */
  exempt: readonly LimitKey[];
  isDetached: boolean;
  /** When judging began, and how much of the time since then does not count towards the timeout. */
  readonly since: number;
  delayedMs: number;
  /** Aborts what is being waited for. Created when first needed, because most messages wait for nothing. */
  abort: AbortController | null;
}

/** A decision by which the message is not forwarded. */
export interface Ruling {
  readonly verdict: Extract<Verdict, { do: "deny" | "drop" | "reply" }>;
  readonly rule: string;
  /** Whether it is a cached response. A later rule may still refuse the request. */
  readonly isKept?: boolean;
}

/** Whether judging of the current stop is complete. */
export function isOver(walk: Walk): boolean {
  return walk.isAllowed || walk.isAnew || isRefused(walk);
}

/** Whether the decision about the message, including the messages inside it, is final. */
export function isRefused({ ruling, settings, isStopped }: Walk): boolean {
  return isStopped || (ruling !== null && ruling.isKept !== true && settings.failFast);
}

/** Aborts what is being waited for, and skips everything after it. */
export function stopWalk(walk: Walk): void {
  walk.isStopped = true;
  walk.abort?.abort();
}

/** Refuses the message. Of several refusals, the first one counts. */
export function refuse(walk: Walk, rule: string, error: WireError): void {
  if (walk.ruling !== null && walk.ruling.verdict.do !== "reply") return;
  const isSilent = walk.turn.message.envelope.kind === "notification";
  walk.ruling = { verdict: isSilent ? { do: "drop", reason: error.message } : { do: "deny", error }, rule };
}

/** Reports that something went wrong while judging. */
export function complain({ services, isStopped }: Walk, rule: string, text: string): void {
  if (isStopped) return; // it was not the policy's fault
  services.report("warn", rule, `the policy could not be applied: ${text}`);
  services.count("failed", { rule });
}

/**
 * Handles a failure while judging: a message that cannot be judged is refused, unless the policy says otherwise
 * (`onError`). `text` is for the log, `told` for the client, which gets no reason if it is null.
 */
export function fail(walk: Walk, rule: string, text: string, told: string | null = null): void {
  complain(walk, rule, text);
  if (walk.settings.observe) return note(walk, "block", rule);
  if (walk.settings.onError === "allow") return;
  const message = told === null ? "Blocked by policy" : `Blocked by policy: it cannot be judged: ${told}`;
  refuse(walk, rule, { code: BLOCKED, message, data: { rule: bareName(rule), action: "block" } });
}

/** The same for a thrown error. */
export function failBy(walk: Walk, rule: string, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  fail(walk, rule, text, error instanceof Unjudgeable ? text : null);
}

/** The error code of a refusal, unless the policy sets another one. */
export const BLOCKED = -32001;

/** The name of a rule as it is written in the policy file. */
export function bareName(rule: string): string {
  return rule.slice(rule.indexOf(":") + 1);
}

/** Notes what a rule or interceptor in observe mode would have done. */
export function note(walk: Walk, would: string, name: string): void {
  walk.notes.push(`would:${would}:${bareName(name)}`);
  walk.services.count("would", { action: would, rule: name });
}

/** Counts one event against a limit, unless this is a retried call that the limit has counted already. */
export function charge(walk: Walk, rule: string, key: LimitKey, limit: number, windowMs: number): Maybe<Taken> {
  if (walk.exempt.length > 0 && walk.exempt.some((one) => isSameLimit(one, key))) {
    walk.charged.push(key);
    return { allowed: true, left: 0 };
  }
  const taken = walk.state.limits.take(key, limit, windowMs);
  return taken instanceof Promise
    ? taken.then((later) => noteTaken(walk, rule, key, later))
    : noteTaken(walk, rule, key, taken);
}

function noteTaken({ charged, services }: Walk, rule: string, key: LimitKey, taken: Taken): Taken {
  if (taken.allowed) charged.push(key);
  else if (taken.isFull === true) services.report("warn", rule, NO_ROOM);
  return taken;
}

const NO_ROOM =
  "refused: too many different keys are counted at once; there is space again when the windows of other keys end";
