import { act } from "../action/act.ts";
import type { Outcome } from "../action/outcome.ts";
import type { Chain, PendingDecision, Walked } from "../rules/chain/chain.ts";
import { composeResult } from "../message/compose.ts";
import { type Message, openMessage, opposite, whole } from "../message/message.ts";
import { GONE, judge, type Policy } from "../policy/judge.ts";
import { NOT_CHECKED } from "../policy/tool-filter.ts";
import { UNKNOWN_LIST } from "../policy/tools.ts";
import { type Decision, PASS } from "../policy/verdict.ts";
import type { PolicyStamp } from "../record/event.ts";
import type { Witness } from "../record/witness.ts";
import type { Session } from "../session/session.ts";
import { readToolPage } from "../session/tool-page.ts";
import { beginTurn, type Turn } from "../session/turn.ts";
import type { Learner } from "./learn.ts";
import type { WaitEnds, WaitingRoom } from "./waiting.ts";

/** The rules in force. They may be replaced while the proxy runs; each message is judged by one version of them. */
export interface Rulebook {
  current: Rules;
}

/** The tool filter with everything before it, and the chain of rules after it. */
export interface Rules {
  readonly policy: Policy;
  readonly chain: Chain | null;
  /**
   * Whether the filter only observes. Messages that cannot be read or do not fit the session are refused all the same.
   */
  readonly observe: boolean;
  /** Identifies the policy in the audit log. */
  readonly stamp?: PolicyStamp;
}

/** Options of `createDecide`. */
export interface DecideOptions {
  readonly session: Session;
  readonly learner: Learner;
  readonly witness: Witness;
  readonly room: WaitingRoom;
  /** Carries out a decision, by the current rules unless others are given. */
  readonly settle: (turn: Turn, decision: Decision, rules?: Rules) => Outcome;
}

/** Decides on a message, using the same rules throughout, and carries the decision out. */
export type Decide = (turn: Turn, rules: Rules) => Outcome | Promise<Outcome>;

/** Makes a `Decide`: first the filter, then the chain, and the filter again if the chain changed the message. */
export function createDecide({ session, learner, witness, room, settle }: DecideOptions): Decide {
  function decide(turn: Turn, rules: Rules): Outcome | Promise<Outcome> {
    const decision = judgeFirst(turn, rules, witness);
    const { chain } = rules;
    switch (decision.verdict.do) {
      case "park":
        return park(turn, rules);
      case "pass":
        if (chain === null) return settle(turn, decision);
        return heed(turn, chain.walk(turn), (walked) => follow(turn, decision, walked, rules));
      case "hide":
      case "edit": {
        if (chain === null) return settle(turn, decision);
        // Rules must not see hidden items either.
        const { onward } = act(decision.verdict, turn);
        if (typeof onward === "string") return settle(turn, decision);
        const shown: Turn = { ...turn, message: openMessage(whole(onward), turn.message.direction, "allow") };
        return heed(turn, chain.walk(shown), (walked) => follow(turn, decision, walked, rules));
      }
      case "reply":
        if (chain === null) return settle(turn, decision);
        return heed(turn, chain.walk(turn), (walked) =>
          walked.verdict.do === "pass" ? answer(turn, decision, rules) : follow(turn, decision, walked, rules),
        );
      case "deny":
      case "drop":
      case "change":
        return settle(turn, decision);
    }
  }

  /** Continues with the result of the chain, now or when it is available. */
  function heed(
    turn: Turn,
    walked: Walked | PendingDecision,
    next: (walked: Walked) => Outcome | Promise<Outcome>,
  ): Outcome | Promise<Outcome> {
    return "stop" in walked ? room.hold(turn, walked.decided, next, { ...ENDS, stop: walked.stop }) : next(walked);
  }

  /** Carries out the result of the chain for a message that the filter permitted. */
  function follow(turn: Turn, judged: Decision, walked: Walked, rules: Rules): Outcome | Promise<Outcome> {
    const { verdict, note } = walked;
    switch (verdict.do) {
      case "pass":
        return letGo(turn, note === undefined ? judged : { ...judged, note: join(judged.note, note) }, walked, rules);
      case "change":
        return recheck(turn, { ...walked, note: join(judged.note, note) }, verdict.message, rules);
      case "reply":
        return answer(turn, walked, rules);
      case "deny":
      case "drop":
      case "hide":
      case "edit":
      case "park":
        return settle(turn, walked, rules);
    }
  }

  /** A changed message is judged by the tool filter again. */
  function recheck(turn: Turn, walked: Walked, message: Message, rules: Rules): Outcome {
    const { envelope, bytes } = message;
    let changed: Turn = { ...turn, message };
    if (turn.opens !== undefined) {
      const { came, exchange } = turn;
      changed = { ...session.observe(message, { ...exchange, mirrored: null }), came, exchange };
      if (changed.opens !== undefined) {
        changed.opens.memo = turn.opens.memo;
        changed.opens.beside = turn.opens.beside;
      }
    } else if (turn.list !== null && envelope.kind === "result")
      changed = { ...changed, list: readToolPage(bytes, envelope.result) ?? "unreadable" };
    const judged = judge(rules.policy, changed);
    return judged.verdict.do === "pass" ? letGo(changed, walked, walked, rules) : settle(changed, judged, rules);
  }

  /** Forwards a message, and sends the copies that rules asked for. */
  function letGo(turn: Turn, decision: Decision, { sendCopies }: Walked, rules: Rules): Outcome {
    const outcome = settle(turn, decision, rules);
    if (outcome.onward !== "nothing") sendCopies?.();
    return outcome;
  }

  /** Answers a request in the proxy. Rules about responses apply to this response as to the server's. */
  function answer(turn: Turn, decision: Decision, rules: Rules): Outcome | Promise<Outcome> {
    const { verdict } = decision;
    const { opens, message, exchange } = turn;
    if (verdict.do !== "reply" || opens === undefined || rules.chain === null) return settle(turn, decision, rules);
    const composed = whole(composeResult(opens.id, verdict.result));
    const said = openMessage(composed, opposite(message.direction), "allow");
    const answering: Turn = { ...beginTurn(session, said, exchange), answers: opens };
    return heed(turn, rules.chain.walk(answering), (walked) => {
      const { verdict: last } = walked;
      if (last.do !== "change") return settle(turn, last.do === "pass" ? decision : walked, rules);
      const { envelope, bytes } = last.message;
      if (envelope.kind !== "result") return settle(turn, UNKNOWN_LIST, rules);
      const result = bytes.subarray(envelope.result.start, envelope.result.end);
      return settle(turn, { ...walked, verdict: { do: "reply", result } }, rules);
    });
  }

  /** Holds a call until the tools are known, and then decides. */
  function park(turn: Turn, rules: Rules): Promise<Outcome> | Outcome {
    const { opens, message, exchange } = turn;
    if (opens === undefined || !room.hasRoom(turn)) return settle(turn, UNKNOWN_LIST);
    // A copy, because the message is part of a larger buffer.
    const kept = whole(Buffer.from(message.bytes.subarray(message.start, message.end)));
    const waiting: Turn = { ...turn, message: openMessage(kept, message.direction, exchange.breaks), came: kept };
    const known = learner.know(waiting).catch((error: unknown) => {
      witness.trouble("tools:no-list", `the tool list could not be fetched: ${(error as Error).message}`);
    });
    return room.hold(
      waiting,
      known,
      () => {
        const decision = judge(rules.policy, waiting);
        return decision.verdict.do === "park" ? settle(waiting, UNKNOWN_LIST, rules) : decide(waiting, rules);
      },
      { noRoom: UNKNOWN_LIST, lost: UNKNOWN_LIST },
    );
  }

  return decide;
}

/** The decision of the filter and of everything before it. */
function judgeFirst(turn: Turn, { policy, observe }: Rules, witness: Witness): Decision {
  const decision = judge(policy, turn);
  const { verdict, rule } = decision;
  if (!observe || verdict.do === "pass" || rule === null || !OF_THE_FILTER.test(rule)) return decision;
  // A cached list contains only what the server itself would send.
  if (verdict.do === "reply") return PASS;
  const would = verdict.do === "park" ? (isDeniedByName(policy, turn) ? "deny" : null) : verdict.do;
  if (would === null) return PASS;
  witness.count("would", { action: would, rule });
  return { ...PASS, note: `would:${would}:${rule}` };
}

/** Whether the patterns of the tool filter alone hide a tool. The server's list is not known yet. */
function isDeniedByName({ tools }: Policy, { opens }: Turn): boolean {
  if (tools === null || opens?.method.name !== "tools/call" || opens.subject === null) return false;
  const [by] = tools.hiddenBy([opens.subject]);
  return by !== null && by !== NOT_CHECKED;
}

const OF_THE_FILTER = /^(?:tools|prompts|resources|names|validate)(?::|$)/;

/** The decision on a message that would have to be held when too many are held already. */
const TOO_MUCH: Decision = {
  verdict: { do: "deny", error: { code: -32000, message: "Too many messages are waiting to be judged" } },
  rule: "chain:too-many-waiting",
};

const ENDS: WaitEnds = { noRoom: TOO_MUCH, lost: GONE };

function join(one: string | undefined, other: string | undefined): string | undefined {
  return one === undefined || other === undefined ? (one ?? other) : `${one} ${other}`;
}
