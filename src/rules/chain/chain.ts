import type { WireError } from "../../message/compose.ts";
import type { Moment } from "../guess.ts";
import type { RuleIndex } from "../rule-index.ts";
import type { LimitKey } from "../../store/keys.ts";
import type { Maybe } from "../../store/maybe.ts";
import { createUnknownRecord, type SessionRecord } from "../../store/sessions.ts";
import { beginLook } from "../view.ts";
import { type Decision, PASS } from "../../policy/verdict.ts";
import type { Turn } from "../../session/turn.ts";
import { sendCopies, type Transforms } from "./actions.ts";
import { createInsight } from "./insight.ts";
import { calledTool, findExempt, keepMemo, learnFromAnswer, type Wants } from "./keep.ts";
import type { ChainServices, ForkWatch } from "./services.ts";
import type { ChainState } from "../../store/state.ts";
import { createRuleRunner } from "./run-rules.ts";
import { runSteps } from "./run-steps.ts";
import type { Step } from "./step.ts";
import { outerStop } from "./stop.ts";
import { standAt, stopsInside } from "./rewrite.ts";
import { fromStore, inOrder, STORE, proceed } from "./wait.ts";
import { BLOCKED, type WalkSettings, fail, isOver, isRefused, note, refuse, stopWalk, type Walk } from "./walk.ts";

/** Method interceptors, rules and interceptors, in that order: what stands behind the tool filter. */
export interface Chain {
  /** What becomes of a message that nothing else speaks against. No promise is made unless something is waited for. */
  walk(turn: Turn): Walked | PendingDecision;
}

/** What the chain decided. */
export interface Walked extends Decision {
  /** Sends the copies that rules asked for. To be called once everybody has let the message pass, as it is by then. */
  readonly sendCopies?: () => void;
}

/** A decision that something is waited for with. */
export interface PendingDecision {
  readonly decided: Promise<Walked>;
  /** Nobody wants to know any more: nothing more is asked or done. */
  stop(): void;
}

/** What a chain is made of. */
export interface ChainOptions {
  readonly settings: WalkSettings;
  readonly index: RuleIndex;
  readonly transforms: Transforms;
  /** Interceptors of one method, and those of all. */
  readonly methodSteps: readonly Step[];
  readonly steps: readonly Step[];
  readonly state: ChainState;
  readonly services: ChainServices;
  /** The name under which it keeps things with open calls, where it walks beside another chain. */
  readonly name?: string | null;
}

/** Makes a chain. */
export function createChain(options: ChainOptions): Chain {
  const { settings, index, transforms, methodSteps, steps, state, services, name: chain = null } = options;
  const allSteps = [...methodSteps, ...steps];
  const runRules = createRuleRunner(index, transforms);
  const looksInside = createInsight(index, allSteps, settings.defaultAction === "block");
  const wants: Wants = (direction, method) =>
    allSteps.some((step) => step.concerns("answered", method)) ? "params" : index.keeps(direction, method);

  function begin(turn: Turn, session: SessionRecord, exempt: readonly LimitKey[]): Walk {
    const stop = outerStop(turn, session, chain);
    return {
      settings,
      chain,
      state,
      services,
      session,
      call: turn.opens,
      turn,
      stop,
      look: beginLook(stop.view),
      inner: -1,
      inside: null,
      recall: null,
      rewritten: 0,
      ruling: null,
      isAllowed: false,
      isStopped: false,
      isAnew: false,
      heldBy: NOBODY,
      hasMatched: false,
      changedBy: null,
      notes: [],
      caches: [],
      charged: [],
      forks: [],
      exempt,
      isDetached: false,
      since: services.now(),
      delayedMs: 0,
      abort: null,
    };
  }

  /** Judges where the walk stands. What was said about another stop does not count here. */
  function judgeStop(walk: Walk): void | Promise<void> {
    walk.isAllowed = false;
    walk.hasMatched = false;
    return proceed(askAll(walk), () => {
      if (!walk.isAnew) return judgeByDefault(walk);
      beginAnew(walk);
      return judgeStop(walk);
    });
  }

  function askAll(walk: Walk): void | Promise<void> {
    return proceed(runSteps(walk, methodSteps, false), () => {
      if (isOver(walk)) return;
      return proceed(runRules(walk), () => {
        if (!isOver(walk)) return runSteps(walk, steps, settings.parallel);
      });
    });
  }

  /** Refuses what is said and no rule has a word for, where that is asked for. */
  function judgeByDefault(walk: Walk): void {
    const { envelope } = walk.stop.message;
    if (settings.defaultAction === "allow" || walk.hasMatched || walk.ruling !== null || walk.isStopped) return;
    if (!("method" in envelope) || envelope.method.class === "pass") return;
    if (settings.observe) note(walk, "block", "chain:default");
    else refuse(walk, "chain:default", BY_DEFAULT);
  }

  /** Goes to the messages inside, where anybody is interested. */
  function goInside(walk: Walk): void | Promise<void> {
    if (isRefused(walk) || !looksInside(walk.turn)) return;
    const found = stopsInside(walk);
    return found instanceof Promise ? found.then((stops) => visitInside(walk, stops)) : visitInside(walk, found);
  }

  function visitInside(walk: Walk, stops: Awaited<ReturnType<typeof stopsInside>>): void | Promise<void> {
    if (stops === "unclear")
      return fail(walk, "chain:unclear", "it is ambiguous: peers could read different messages in it");
    return inOrder(
      () => (isRefused(walk) ? 0 : stops.length),
      (nth) => {
        walk.inner = nth;
        // An earlier one may have been changed: then this one is not where it was.
        const now = stopsInside(walk);
        return now instanceof Promise ? now.then((later) => visit(walk, later, nth)) : visit(walk, now, nth);
      },
    );
  }

  function visit(walk: Walk, stops: Awaited<ReturnType<typeof stopsInside>>, nth: number): void | Promise<void> {
    if (stops === "unclear")
      return fail(walk, "chain:unclear", "it is ambiguous: peers could read different messages in it");
    standAt(walk, stops[nth]);
    return judgeStop(walk);
  }

  /** Judges a message and all that is inside of it. Without closures: most walks wait for nothing. */
  function judgeAll(walk: Walk): void | Promise<void> {
    const outside = judgeStop(walk);
    if (outside !== undefined) return outside.then(() => goInside(walk)).then(() => saveSession(walk));
    const inside = goInside(walk);
    return inside === undefined ? saveSession(walk) : inside.then(() => saveSession(walk));
  }

  function conclude(walk: Walk): Walked {
    const { ruling, changedBy, notes, turn, forks } = walk;
    const note = notes.length === 0 ? {} : { note: notes.join(" ") };
    if (ruling !== null) {
      // What we answer ourselves is judged like the server's answer, and with its request at hand.
      if (ruling.verdict.do === "reply") keepMemo({ turn, call: walk.call, ...NOTHING_KEPT }, wants, chain);
      return { ...ruling, ...note };
    }
    if (walk.isStopped) return PASS; // nobody hears it
    const watches: ForkWatch[] = [];
    if ("method" in turn.message.envelope) {
      const { call, caches, charged } = walk;
      keepMemo({ turn, call, caches, charged, forks: watches }, wants, chain, forks.length > 0);
    }
    const copies = forks.length === 0 ? {} : { sendCopies: () => sendCopies(walk, watches) };
    if (changedBy !== null)
      return { verdict: { do: "change", message: turn.message }, rule: changedBy, ...note, ...copies };
    return notes.length === 0 && forks.length === 0 ? PASS : { ...PASS, ...note, ...copies };
  }

  /** Whether nobody looks at a message. That is found out without looking into it. */
  function isPassedBy(turn: Turn, method: string | null): boolean {
    const { envelope, direction } = turn.message;
    const isSaid = "method" in envelope;
    if (isSaid && settings.defaultAction === "block") return false;
    const tool = method === "tools/call" ? ((isSaid ? turn.opens : turn.answers)?.subject ?? undefined) : null;
    const moment: Moment = isSaid ? "said" : "answered";
    const isList = !isSaid && method !== null && method.endsWith("/list");
    if (index.find({ moment, direction, method, tool: isList ? undefined : tool }).length > 0) return false;
    return !allSteps.some((step) => step.concerns(moment, method)) && !looksInside(turn);
  }

  /** A walk that waits for the store before it can begin, or before it may end. */
  function later(turn: Turn, go: (walk: Walk) => Promise<void>): PendingDecision {
    const walk = begin(turn, createUnknownRecord(turn.session.scope, services.now), []);
    const decided = go(walk).then(
      () => conclude(walk),
      (error: unknown) => {
        release(walk.session);
        throw error;
      },
    );
    return { decided, stop: () => stopWalk(walk) };
  }

  const onTrouble = (error: unknown): void =>
    services.report("warn", STORE, `an answer was not kept: ${String(error)}`);

  return {
    walk(turn) {
      const { envelope } = turn.message;
      const { kind } = envelope;
      if (kind === "batch" || kind === "opaque") return PASS; // they are taken apart, or refused, before they come here
      const { scope } = turn.session;
      const method = "method" in envelope ? envelope.method.name : (turn.answers?.method.name ?? null);
      const tookMs = turn.answers === undefined ? 0 : services.now() - turn.answers.since;
      const learning = learnFromAnswer(turn, state, chain, onTrouble);
      if (isPassedBy(turn, method)) {
        const counting = state.sessions.count(scope, kind, method, tookMs, calledTool(turn));
        if (learning !== undefined || counting !== undefined)
          return later(turn, async (walk) => {
            await Promise.all([fromStore(walk, learning), fromStore(walk, counting)]);
          });
        if ("method" in envelope) keepMemo({ turn, call: turn.opens, ...NOTHING_KEPT }, wants, chain);
        return PASS;
      }
      const loading = state.sessions.load(scope);
      const exempting = findExempt(turn, state);
      if (learning !== undefined || loading instanceof Promise || exempting instanceof Promise)
        return later(turn, async (walk) => {
          await awaitStore(walk, learning, loading, exempting);
          walk.session.count(kind, method, tookMs);
          await judgeAll(walk);
        });
      loading.count(kind, method, tookMs);
      const walk = begin(turn, loading, exempting);
      const wait = judgeAll(walk);
      if (wait === undefined) return conclude(walk);
      return { decided: wait.then(() => conclude(walk)), stop: () => stopWalk(walk) };
    },
  };
}

/** A person has made another message of it: what rules have said about the one before does not count. */
function beginAnew(walk: Walk): void {
  walk.isAnew = false;
  walk.exempt = [...walk.exempt, ...walk.charged]; // it is still one message, and is charged once
  walk.charged.length = walk.caches.length = walk.forks.length = 0;
}

/** Writes down what happened in the session of a message. */
function saveSession(walk: Walk): void | Promise<void> {
  const tool = walk.ruling === null && !walk.isStopped ? calledTool(walk.turn) : null;
  if (tool !== null) walk.session.countCall(tool);
  const saving = walk.session.save();
  return saving === undefined ? undefined : fromStore(walk, saving);
}

/** Is done with the record of a session, where nobody waits for that. */
function release(session: SessionRecord): void {
  const saving = session.save();
  if (saving !== undefined) saving.catch(() => {});
}

/** Waits for what the store knows of a message's session. Where it fails, nothing is known. */
async function awaitStore(
  walk: Walk,
  learning: Maybe<void>,
  loading: Maybe<SessionRecord>,
  exempting: Maybe<readonly LimitKey[]>,
): Promise<void> {
  const waits = [fromStore(walk, loading), fromStore(walk, exempting), fromStore(walk, learning)] as const;
  const [session, exempt] = await Promise.all(waits);
  if (exempt !== undefined) walk.exempt = exempt;
  if (session === undefined) {
    // It may still come, when nobody waits for it any more.
    if (loading instanceof Promise) loading.then(release, () => {});
    return;
  }
  walk.session = session;
  standAt(walk, outerStop(walk.turn, session, walk.chain));
}

const NOBODY: ReadonlySet<string> = new Set();

const NOTHING_KEPT = { caches: [], charged: [], forks: [] } as const;

const BY_DEFAULT: WireError = {
  code: BLOCKED,
  message: "Blocked by policy",
  data: { rule: "default", action: "block" },
};
