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
import { type Maybe, whenKnown } from "../../store/maybe.ts";
import type { CacheNote } from "./memo.ts";
import type { ChainServices } from "./services.ts";
import type { ChainState } from "../../store/state.ts";
import type { Recall } from "./recall.ts";
import type { Stop } from "./stop.ts";

/** How the chain is walked, by the policy file and by what the proxy knows beside it. */
export interface WalkSettings extends ChainSettings {
  /** Whether all rules only watch. */
  readonly observe: boolean;
  /** Which server this is, so that its answers are not taken for another's. */
  readonly server: string;
}

/** A message on its way along the chain. */
export interface Walk {
  readonly settings: WalkSettings;
  /** The name of the chain, where it walks beside another one. */
  readonly chain: string | null;
  readonly state: ChainState;
  readonly services: ChainServices;
  /** What is kept of its session. Where it could not be loaded, one of which nothing is known. */
  session: SessionRecord;
  /** The call that the message opens, as the session knows it. */
  readonly call: Call | undefined;
  turn: Turn;
  /** Where it is now: at the message itself, or at one inside. */
  stop: Stop;
  look: Look;
  /** Its number among the stops inside; -1 for the message itself. */
  inner: number;
  /** The stops inside, as they were last found, and in which message that was. */
  inside: { readonly message: Message; readonly stops: readonly Stop[] | "unclear" } | null;
  /** What the store knows about them, once somebody wants to know. */
  recall: Recall | null;
  /** How many bytes were written anew for its changes. */
  rewritten: number;
  /** What was decided, unless it goes on. */
  ruling: Ruling | null;
  /** Whether a rule has said that enough was judged, here. */
  isAllowed: boolean;
  /** Whether nobody waits for it any more. */
  isStopped: boolean;
  /** Whether a person has made another message of it, which is to be judged from the beginning. */
  isAnew: boolean;
  /** Who has held the message as it is by now: it is not held again in the same name. */
  heldBy: ReadonlySet<string>;
  /** Whether any rule had something to say, here. */
  hasMatched: boolean;
  /** Who changed it last. */
  changedBy: string | null;
  readonly notes: string[];
  readonly caches: CacheNote[];
  readonly charged: LimitKey[];
  /** The copies that are sent where the message itself goes on. */
  readonly forks: { readonly action: ActionOf<"fork">; readonly rule: Rule }[];
  /** The limits it was charged to before, and is not again. */
  exempt: readonly LimitKey[];
  isDetached: boolean;
  /** When it set out, and how long it was held up on purpose. */
  readonly since: number;
  delayedMs: number;
  /** Ends what is waited for, when it takes too long. Made when somebody wants to know: most walks end at once. */
  abort: AbortController | null;
}

/** What ends a walk. */
export interface Ruling {
  readonly verdict: Extract<Verdict, { do: "deny" | "drop" | "reply" }>;
  readonly rule: string;
  /** Whether it is an answer that was kept: who refuses the request has the last word all the same. */
  readonly isKept?: boolean;
}

/** Whether enough was judged where the walk stands. */
export function isOver(walk: Walk): boolean {
  return walk.isAllowed || walk.isAnew || isRefused(walk);
}

/** Whether nothing can change any more what becomes of the message, all that is inside it included. */
export function isRefused({ ruling, settings, isStopped }: Walk): boolean {
  return isStopped || (ruling !== null && ruling.isKept !== true && settings.failFast);
}

/** Ends what is waited for, and all that would come after it. */
export function stopWalk(walk: Walk): void {
  walk.isStopped = true;
  walk.abort?.abort();
}

/** Refuses it. Of several refusals the first one is told. */
export function refuse(walk: Walk, rule: string, error: WireError): void {
  if (walk.ruling !== null && walk.ruling.verdict.do !== "reply") return;
  const isSilent = walk.turn.message.envelope.kind === "notification";
  walk.ruling = { verdict: isSilent ? { do: "drop", reason: error.message } : { do: "deny", error }, rule };
}

/** Says that something went wrong in judging. */
export function complain({ services, isStopped }: Walk, rule: string, text: string): void {
  if (isStopped) return; // it was not the policy's fault
  services.report("warn", rule, `the policy could not be applied: ${text}`);
  services.count("failed", { rule });
}

/**
 * Something went wrong in judging: what cannot be judged does not pass, unless somebody wrote that down. `text` is for the
 * log, `told` for the client, who hears no reason where it is null.
 */
export function fail(walk: Walk, rule: string, text: string, told: string | null = null): void {
  complain(walk, rule, text);
  if (walk.settings.observe) return note(walk, "block", rule);
  if (walk.settings.onError === "allow") return;
  const message = told === null ? "Blocked by policy" : `Blocked by policy: it cannot be judged: ${told}`;
  refuse(walk, rule, { code: BLOCKED, message, data: { rule: bareName(rule), action: "block" } });
}

/** The same for what was thrown. */
export function failBy(walk: Walk, rule: string, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  fail(walk, rule, text, error instanceof Unjudgeable ? text : null);
}

/** The code of a refusal, unless the policy has another. */
export const BLOCKED = -32001;

/** The name of a rule as its author wrote it. */
export function bareName(rule: string): string {
  return rule.slice(rule.indexOf(":") + 1);
}

/** Notes what somebody would have done. */
export function note(walk: Walk, would: string, name: string): void {
  walk.notes.push(`would:${would}:${bareName(name)}`);
  walk.services.count("would", { action: would, rule: name });
}

/** Takes one of what a limit allows, unless this is a call that was charged before a server's question. */
export function charge(
  { exempt, charged, state, services }: Walk,
  rule: string,
  key: LimitKey,
  limit: number,
  windowMs: number,
): Maybe<Taken> {
  if (exempt.some((one) => isSameLimit(one, key))) {
    charged.push(key);
    return { allowed: true, left: 0 };
  }
  return whenKnown(state.limits.take(key, limit, windowMs), (taken) => {
    if (taken.allowed) charged.push(key);
    else if (taken.isFull === true) services.report("warn", rule, NO_ROOM);
    return taken;
  });
}

const NO_ROOM =
  "refused: too many different keys are counted at once; there is space again when the windows of other keys end";
