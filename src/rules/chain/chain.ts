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

/** Method interceptors, rules and interceptors, in that order. The chain runs after the tool filter. */
export interface Chain {
  /** Judges a message that no earlier check has refused. Returns a promise only if it has to wait for something. */
  walk(turn: Turn): Walked | PendingDecision;
}

/** The decision of the chain. */
export interface Walked extends Decision {
  /** Sends the copies that rules asked for. Call it once the message is certain to be forwarded in its current form. */
  readonly sendCopies?: () => void;
}

/** A decision that has to wait for something. */
export interface PendingDecision {
  readonly decided: Promise<Walked>;
  /** Abandons the decision: no further action is carried out. */
  stop(): void;
}

/** The parts of a chain. */
export interface ChainOptions {
  readonly settings: WalkSettings;
  readonly index: RuleIndex;
  readonly transforms: Transforms;
  /** Interceptors for one method, and interceptors for all methods. */
  readonly methodSteps: readonly Step[];
  readonly steps: readonly Step[];
  readonly state: ChainState;
  readonly services: ChainServices;
  /** The name under which a chain that runs beside another one keeps its memos with open calls. */
  readonly name?: string | null;
}

/** Creates a chain. */
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

  /** Judges the current stop. `isAllowed` and `hasMatched` are reset, because they hold for one stop only. */
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

  /** Refuses a request or notification that no rule has matched, if the policy blocks by default. */
  function judgeByDefault(walk: Walk): void {
    const { envelope } = walk.stop.message;
    if (settings.defaultAction === "allow" || walk.hasMatched || walk.ruling !== null || walk.isStopped) return;
    if (!("method" in envelope) || envelope.method.class === "pass") return;
    if (settings.observe) note(walk, "block", "chain:default");
    else refuse(walk, "chain:default", BY_DEFAULT);
  }

  /** Judges the messages inside this one, if a rule or interceptor concerns them. */
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
        // A change to an earlier inner message may have moved this one.
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

  /** Judges a message and all messages inside it. Written without closures, because most messages wait for nothing. */
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
      // A response of the proxy itself is judged like one from the server, with the memo of its request.
      if (ruling.verdict.do === "reply") keepMemo({ turn, call: walk.call, ...NOTHING_KEPT }, wants, chain);
      return { ...ruling, ...note };
    }
    if (walk.isStopped) return PASS; // the decision is not used any more
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

  /** Whether no rule or interceptor looks at a message. Decided without reading its body. */
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

  /** Judges a message for which the store has to be awaited, at the beginning or at the end. */
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
      // batches are split and unreadable messages refused before they get here
      if (kind === "batch" || kind === "opaque") return PASS;
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

/** Starts again after a person has changed the message: what rules did with the earlier version no longer counts. */
function beginAnew(walk: Walk): void {
  walk.isAnew = false;
  walk.exempt = [...walk.exempt, ...walk.charged]; // it is still one message, so each limit counts it once
  walk.charged.length = walk.caches.length = walk.forks.length = 0;
}

/** Counts a tool call that is forwarded, and saves the session record. */
function saveSession(walk: Walk): void | Promise<void> {
  const tool = walk.ruling === null && !walk.isStopped ? calledTool(walk.turn) : null;
  if (tool !== null) walk.session.countCall(tool);
  const saving = walk.session.save();
  return saving === undefined ? undefined : fromStore(walk, saving);
}

/** Releases a session record without waiting for it to be saved. */
function release(session: SessionRecord): void {
  const saving = session.save();
  if (saving !== undefined) saving.catch(() => {});
}

/** Waits for the data that the store has for a message. If the store fails, the walk keeps its empty session record. */
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
    // The record may still arrive after the timeout. Release it then.
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
