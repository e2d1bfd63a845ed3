import type { Change } from "../../action/change.ts";
import { splice } from "../../message/edit.ts";
import { lastScan } from "../../message/scan.ts";
import type { WireError } from "../../message/compose.ts";
import { type Message, openMessage, whole } from "../../message/message.ts";
import { readText } from "../../message/text.ts";
import type { Verdict } from "../../policy/verdict.ts";
import { beginLook, type Look } from "../view.ts";
import type { ActionOf, Rule } from "../rule.ts";
import type { ChainSettings } from "../settings.ts";
import { Unjudgeable } from "../unjudgeable.ts";
import type { SessionRecord } from "../../store/sessions.ts";
import type { Call } from "../../session/call.ts";
import type { Turn } from "../../session/turn.ts";
import type { Taken } from "../../store/limits.ts";
import { spend, walkSteps } from "../work.ts";
import type { CacheNote } from "./memo.ts";
import type { ChainServices } from "./services.ts";
import type { ChainState } from "../../store/state.ts";
import { innerStops, outerStop, type Stop } from "./stop.ts";

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
  readonly state: ChainState;
  readonly services: ChainServices;
  readonly session: SessionRecord;
  /** The call that the message opens, as the session knows it. */
  readonly call: Call | undefined;
  turn: Turn;
  /** Where it is now: at the message itself, or at one inside. */
  stop: Stop;
  look: Look;
  /** Its number among the stops inside; -1 for the message itself. */
  inner: number;
  /** The stops inside, as they were last found, and in which message that was. */
  inside: { readonly message: Message; readonly stops: ReturnType<typeof innerStops> } | null;
  /** How many bytes were written anew for its changes. */
  rewritten: number;
  /** What was decided, unless it goes on. */
  ruling: Ruling | null;
  /** Whether a rule has said that enough was judged, here. */
  isAllowed: boolean;
  /** Whether nobody waits for it any more. */
  isStopped: boolean;
  /** Whether any rule had something to say, here. */
  hasMatched: boolean;
  /** Who changed it last. */
  changedBy: string | null;
  readonly notes: string[];
  readonly caches: CacheNote[];
  readonly charged: string[];
  /** The copies that are sent where the message itself goes on. */
  readonly forks: { readonly action: ActionOf<"fork">; readonly rule: Rule }[];
  /** The limits it was charged to before, and is not again. */
  readonly exempt: readonly string[];
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
  return walk.isAllowed || isRefused(walk);
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
  services.report("warn", rule, `the policy could not be followed: ${text}`);
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
function bareName(rule: string): string {
  return rule.slice(rule.indexOf(":") + 1);
}

/** Notes what somebody would have done. */
export function note(walk: Walk, would: string, name: string): void {
  walk.notes.push(`would:${would}:${bareName(name)}`);
  walk.services.count("would", { action: would, rule: name });
}

/** Takes one of what a limit allows, unless this is a call that was charged before a server's question. */
export function charge(
  { exempt, charged, state, settings, services }: Walk,
  rule: string,
  key: string,
  limit: number,
  windowMs: number,
): Taken {
  if (exempt.includes(key)) {
    charged.push(key);
    return { allowed: true, left: 0 };
  }
  const taken = state.limits.take(settings.observe ? `observe:${key}` : key, limit, windowMs);
  if (taken.allowed) charged.push(key);
  else if (taken.isFull === true) services.report("warn", rule, NO_ROOM);
  return taken;
}

const NO_ROOM = "refused: more keys are counted than there is room for, until the windows of others are over";

/** Makes a change, and goes on with what came of it. */
export function apply(walk: Walk, rule: string, change: Change): void {
  if ("problem" in change) return fail(walk, rule, change.problem);
  if (change.edits.length === 0) return;
  const { message } = walk.turn;
  walk.rewritten += message.end - message.start;
  if (walk.rewritten > MAX_REWRITTEN_BYTES) return fail(walk, rule, "it is too large to be changed so often");
  const changed = openMessage(whole(splice(message, change.edits)), message.direction, "allow");
  // A message that was changed is read again, all of it.
  spend(walk.look.work, walkSteps(2 * (changed.end - changed.start)) + STEPS_PER_SET_KEY * lastScan().setKeys);
  if (changed.envelope.kind !== message.envelope.kind) return fail(walk, rule, "what came of it is no such message");
  replace(walk, changed);
  walk.isDetached = true;
  walk.changedBy = rule;
}

/** What it costs to look whether a key of a large object is there twice. */
const STEPS_PER_SET_KEY = 20;

/** Every change is a new message, all of it: so much is written for one, however many there are inside. */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024;

/** Copies the message, so that what it waits with is no more than itself. */
export function detach(walk: Walk): void {
  if (walk.isDetached) return;
  walk.isDetached = true;
  const { bytes, start, end, direction } = walk.turn.message;
  replace(walk, openMessage(whole(Buffer.from(bytes.subarray(start, end))), direction, walk.turn.exchange.breaks));
}

function replace(walk: Walk, message: Message): void {
  walk.turn = withMessage(walk.turn, message);
  walk.stop = outerStop(walk.turn, walk.session);
  if (walk.inner >= 0) {
    const stops = stopsInside(walk);
    if (stops === "unclear" || walk.inner >= stops.length) throw new Error("what was inside is there no more");
    walk.stop = stops[walk.inner];
  }
  walk.look = beginLook(walk.stop.view, walk.look.work);
}

/** The stops inside the message as it is by now. They are looked for again only where it is another one. */
export function stopsInside(walk: Walk): ReturnType<typeof innerStops> {
  const { turn, session, state, inside } = walk;
  if (inside !== null && inside.message === turn.message) return inside.stops;
  const stops = innerStops(turn, session, state);
  walk.inside = { message: turn.message, stops };
  return stops;
}

function withMessage(turn: Turn, message: Message): Turn {
  const { opens } = turn;
  const { envelope, bytes } = message;
  if (opens === undefined || envelope.kind !== "request") return { ...turn, message };
  const { subject } = envelope;
  return {
    ...turn,
    message,
    opens: { ...opens, subject: subject === null ? null : readText(bytes, subject.start + 1, subject.end - 1) },
  };
}

/** Says when what is waited for is not wanted any more. */
export function signalOf(walk: Walk): AbortSignal {
  walk.abort ??= new AbortController();
  return walk.abort.signal;
}

/** Waits for something, but no longer than the chain has. Undefined where that took too long, or failed. */
export async function waitFor<Value>(
  walk: Walk,
  rule: string,
  begin: (signal: AbortSignal) => Promise<Value>,
): Promise<Value | undefined> {
  const left = walk.settings.timeoutMs + walk.delayedMs - (walk.services.now() - walk.since);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, left), LATE);
  });
  try {
    const value = await Promise.race([begin(signalOf(walk)), late]);
    if (value !== LATE) return value;
    walk.abort?.abort();
    fail(walk, rule, `it took longer than ${walk.settings.timeoutMs} ms`);
  } catch (error) {
    failBy(walk, rule, error);
  } finally {
    clearTimeout(timer);
  }
  return undefined;
}

const LATE = Symbol("late");

/** Visits one after the other. No promise is made unless one of them is waited for. */
export function inOrder(
  count: () => number,
  visit: (nth: number) => void | Promise<void>,
  from = 0,
): void | Promise<void> {
  for (let nth = from; nth < count(); nth++) {
    const wait = visit(nth);
    if (wait !== undefined) return wait.then(() => inOrder(count, visit, nth + 1));
  }
}

/** Goes on at once, or when something has been waited for. */
export function proceed(wait: void | Promise<void>, next: () => void | Promise<void>): void | Promise<void> {
  return wait === undefined ? next() : afterwards(wait, next);
}

async function afterwards(wait: Promise<void>, next: () => void | Promise<void>): Promise<void> {
  await wait;
  await next();
}
