import type { WireError } from "../../message/compose.ts";
import type { CompiledRule } from "../compiled-rule.ts";
import type { Moment } from "../guess.ts";
import { type Candidate, askCandidate, type RuleIndex } from "../rule-index.ts";
import type { SessionRecord } from "../../store/sessions.ts";
import { beginLook, type Doubt } from "../view.ts";
import { type Decision, PASS } from "../../policy/verdict.ts";
import type { Turn } from "../../session/turn.ts";
import { alwaysRefuses, isDeciding, isWatching, traitsOf } from "../action-traits.ts";
import { foresee, nameOf, perform, sendCopies, type Transforms } from "./actions.ts";
import { following, isHiding, isOwnReply } from "./candidates.ts";
import { createInsight } from "./insight.ts";
import { countCall, findExempt, keepMemo, learnFromAnswer, type Wants } from "./keep.ts";
import type { ChainServices, ForkWatch } from "./services.ts";
import type { ChainState } from "../../store/state.ts";
import { runSteps } from "./run-steps.ts";
import type { Step } from "./step.ts";
import { gistOf, outerStop } from "./stop.ts";
import {
  BLOCKED,
  complain,
  fail,
  failBy,
  inOrder,
  isOver,
  isRefused,
  note,
  refuse,
  stopsInside,
  stopWalk,
  proceed,
  type Walk,
  type WalkSettings,
} from "./walk.ts";

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
}

/** Makes a chain. */
export function createChain(options: ChainOptions): Chain {
  const { settings, index, transforms, methodSteps, steps, state, services } = options;
  const allSteps = [...methodSteps, ...steps];
  const looksInside = createInsight(index, allSteps, settings.defaultAction === "block");
  const wants: Wants = (direction, method) =>
    allSteps.some((step) => step.concerns("answered", method)) ? "params" : index.keeps(direction, method);

  function begin(turn: Turn, session: SessionRecord): Walk {
    const stop = outerStop(turn, session);
    return {
      settings,
      state,
      services,
      session,
      call: turn.opens,
      turn,
      stop,
      look: beginLook(stop.view),
      inner: -1,
      inside: null,
      rewritten: 0,
      ruling: null,
      isAllowed: false,
      isStopped: false,
      hasMatched: false,
      changedBy: null,
      notes: [],
      caches: [],
      charged: [],
      forks: [],
      exempt: findExempt(turn, state),
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
    return proceed(askAll(walk), () => judgeByDefault(walk));
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

  function runRules(walk: Walk): void | Promise<void> {
    return runFrom(walk, index.find(gistOf(walk.stop)), 0);
  }

  /** Most rules do not match: those are passed over without a closure for each. */
  function runFrom(walk: Walk, candidates: readonly Candidate[], from: number): void | Promise<void> {
    if (isOver(walk)) return;
    let { look, stop } = walk;
    for (let nth = from; nth < candidates.length; nth++) {
      const candidate = candidates[nth];
      // Which elements of a list are hidden is found out when they are.
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
    // It is another tool's call from here on: the rules for that one follow, and those for this one do not.
    return runFrom(walk, following(candidates[nth], index.find(gistOf(walk.stop))), 0);
  }

  function runRule(walk: Walk, { compiled }: Candidate, answer: "yes" | "unsure"): void | Promise<void> {
    const { rule } = compiled;
    const hides = walk.stop.isList && isHiding(compiled);
    // Who only writes something down has not said that it may pass.
    if (rule.mode === "on" && !hides) walk.hasMatched ||= rule.actions.some(isDeciding);
    if (settings.observe || rule.mode === "observe") return watch(walk, compiled, answer);
    if (answer === "unsure") {
      const { text, told } = walk.look.doubt ?? UNKNOWN_DOUBT;
      if (rule.actions.some((action) => !isWatching(action))) return fail(walk, nameOf(rule), text, told);
      // One that only watches would not have stopped it either.
      return complain(walk, nameOf(rule), text);
    }
    return inOrder(
      () => (walk.isStopped ? 0 : rule.actions.length),
      (nth) => {
        const action = rule.actions[nth];
        // It does not go to the server any more: all that is left to say is no.
        if (walk.ruling?.isKept === true && !traitsOf(action).canRefuse && !isWatching(action)) return;
        const isDone =
          walk.isAllowed || (walk.ruling !== null && walk.ruling.isKept !== true && !isOwnReply(walk, compiled));
        if (isDone && !isWatching(action)) {
          const isWorse = !settings.failFast && alwaysRefuses(action);
          if (walk.isAllowed || !isWorse) return;
        }
        try {
          return perform(walk, compiled, action, transforms);
        } catch (error) {
          failBy(walk, nameOf(rule), error);
        }
      },
    );
  }

  /** Notes what a rule would have done. */
  function watch(walk: Walk, compiled: CompiledRule, answer: "yes" | "unsure"): void {
    const { rule } = compiled;
    for (const action of rule.actions) {
      let would: string | null;
      try {
        would = answer === "unsure" ? "block" : foresee(walk, compiled, action, transforms);
      } catch {
        would = "block";
      }
      if (would !== null) return note(walk, would, nameOf(rule));
    }
    services.count("would", { action: "match", rule: nameOf(rule) });
  }

  /** Goes to the messages inside, where anybody is interested. */
  function goInside(walk: Walk): void | Promise<void> {
    if (isRefused(walk) || !looksInside(walk.turn)) return;
    const stops = stopsInside(walk);
    if (stops === "unclear") return fail(walk, "chain:unclear", "peers could see different messages inside it");
    return inOrder(
      () => (isRefused(walk) ? 0 : stops.length),
      (nth) => {
        walk.inner = nth;
        // An earlier one may have been changed: then this one is not where it was.
        const now = stopsInside(walk);
        if (now === "unclear") return fail(walk, "chain:unclear", "peers could see different messages inside it");
        walk.stop = now[nth];
        walk.look = beginLook(walk.stop.view, walk.look.work);
        return judgeStop(walk);
      },
    );
  }

  function conclude(walk: Walk): Walked {
    const { ruling, changedBy, notes, turn, forks } = walk;
    const note = notes.length === 0 ? {} : { note: notes.join(" ") };
    if (ruling !== null) {
      // What we answer ourselves is judged like the server's answer, and with its request at hand.
      if (ruling.verdict.do === "reply") keepMemo({ turn, call: walk.call, ...NOTHING_KEPT }, wants);
      return { ...ruling, ...note };
    }
    if (walk.isStopped) return PASS; // nobody hears it
    countCall(turn, walk.session);
    const watches: ForkWatch[] = [];
    if ("method" in turn.message.envelope) {
      const { call, caches, charged } = walk;
      keepMemo({ turn, call, caches, charged, forks: watches }, wants, forks.length > 0);
    }
    const copies = forks.length === 0 ? {} : { sendCopies: () => sendCopies(walk, watches) };
    if (changedBy !== null)
      return { verdict: { do: "change", message: turn.message }, rule: changedBy, ...note, ...copies };
    return notes.length === 0 && forks.length === 0 ? PASS : { ...PASS, ...note, ...copies };
  }

  /** Passes what nobody looks at. That is found out without looking into it. */
  function passBy(turn: Turn, kind: Kind, session: SessionRecord): Decision | null {
    const { envelope, direction } = turn.message;
    const isSaid = "method" in envelope;
    const method = isSaid ? envelope.method.name : (turn.answers?.method.name ?? null);
    const tool = method === "tools/call" ? ((isSaid ? turn.opens : turn.answers)?.subject ?? undefined) : null;
    const moment: Moment = isSaid ? "said" : "answered";
    const isList = !isSaid && method !== null && method.endsWith("/list");
    session.count(kind, method, turn.answers === undefined ? 0 : services.now() - turn.answers.since);
    if (isSaid && settings.defaultAction === "block") return null;
    if (index.find({ moment, direction, method, tool: isList ? undefined : tool }).length > 0) return null;
    if (allSteps.some((step) => step.concerns(moment, method)) || looksInside(turn)) return null;
    countCall(turn, session);
    if (isSaid) keepMemo({ turn, call: turn.opens, ...NOTHING_KEPT }, wants);
    return PASS;
  }

  return {
    walk(turn) {
      const { kind } = turn.message.envelope;
      if (kind === "batch" || kind === "opaque") return PASS; // they are taken apart, or refused, before they come here
      learnFromAnswer(turn, state);
      const session = state.sessions.of(turn.session.scope);
      const passed = passBy(turn, kind, session);
      if (passed !== null) return passed;
      const walk = begin(turn, session);
      const wait = proceed(judgeStop(walk), () => goInside(walk));
      if (wait === undefined) return conclude(walk);
      return { decided: wait.then(() => conclude(walk)), stop: () => stopWalk(walk) };
    },
  };
}

type Kind = "request" | "notification" | "result" | "error";

const UNKNOWN_DOUBT: Doubt = { text: "a condition could not be judged", told: null };

const NOTHING_KEPT = { caches: [], charged: [], forks: [] } as const;

const BY_DEFAULT: WireError = {
  code: BLOCKED,
  message: "Blocked by policy",
  data: { rule: "default", action: "block" },
};
