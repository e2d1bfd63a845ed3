import { act } from "../action/act.ts";
import { NOTHING, type Outcome, UNTOUCHED } from "../action/outcome.ts";
import { OPEN_OBJECT } from "../message/characters.ts";
import { composeError, type WireError } from "../message/compose.ts";
import { FAULTS } from "../message/faults.ts";
import { createGistReader, type Gist } from "../message/gist.ts";
import { eachElement } from "../message/members.ts";
import { type Direction, type Message, openMessage, opposite, type Payload, whole } from "../message/message.ts";
import { judge, type Policy, WITHDRAWN } from "../policy/judge.ts";
import { UNKNOWN_LIST } from "../policy/tools.ts";
import type { Decision } from "../policy/verdict.ts";
import { UNAUDITED_RULE } from "../record/event.ts";
import type { Witness } from "../record/witness.ts";
import type { Call } from "../session/calls.ts";
import type { Exchange } from "../session/exchange.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import { passBatch } from "./batch.ts";
import type { Learner } from "./learn.ts";

/** What becomes of the messages of one conversation. Every link asks it one question per message. */
export interface Passage {
  /** No promise is made unless the message has to wait. */
  pass(payload: Payload, direction: Direction, exchange: Exchange): Outcome | Promise<Outcome>;
  /** What becomes of one that was too large to keep: whoever waits is told. */
  lose(gist: Gist, bytes: number, direction: Direction): Outcome;
  /** The answer for one who waits in vain; null where it is not waited for any more, or where it was our own. */
  giveUpOn(call: Call, direction: Direction, error: WireError): Buffer | null;
  /** The answers for all who still wait in one direction, when nobody will answer them any more. */
  giveUp(direction: Direction, error: WireError): Buffer[];
}

/** What a passage is made of. */
export interface PassageOptions {
  readonly session: Session;
  readonly policy: Policy;
  readonly learner: Learner;
  readonly witness: Witness;
  /** How many bytes of messages may wait for something at once. */
  readonly maxParkedBytes: number;
}

/** Puts the rooms in a row: message, session, policy, action. */
export function createPassage({ session, policy, learner, witness, maxParkedBytes }: PassageOptions): Passage {
  let parkedBytes = 0;
  // The messages that wait, each with what ends its wait.
  const parked = new Map<Call, { readonly turn: Turn; readonly wake: () => void }>();

  function pass(payload: Payload, direction: Direction, exchange: Exchange): Outcome | Promise<Outcome> {
    try {
      const message = openMessage(payload, direction, exchange.breaks);
      const turn = session.observe(message, exchange);
      if (message.envelope.kind === "batch") {
        if (turn.trouble === null) return passBatch(pass, message, exchange);
        if (exchange.isMember !== true) disappoint(message);
      }
      const decision = judge(policy, turn);
      return decision.verdict.do === "park" ? park(turn) : settle(turn, decision);
    } catch (error) {
      return fail(payload, direction, error);
    }
  }

  /** What becomes of a message that we failed on ourselves: it does not pass, and whoever waits is told. */
  function fail({ bytes, start, end }: Payload, direction: Direction, error: unknown): Outcome {
    // By its name: the parts of the command that are loaded late have classes of their own.
    if (error instanceof Error && error.name === "Unaudited") witness.trouble(UNAUDITED_RULE, error.message);
    else witness.trouble("internal", error instanceof Error ? (error.stack ?? error.message) : String(error));
    const reader = createGistReader();
    reader.push(bytes.subarray(start, end));
    return tell(reader.end(), direction, INTERNAL, INTERNAL);
  }

  /** Tells whoever waits for a message that will not come: its sender, or the one it was an answer for. */
  function tell({ id, like }: Gist, direction: Direction, sender: WireError, receiver: WireError): Outcome {
    if (id === null || like === "neither") return NOTHING;
    if (like === "request") {
      // Not under an id that is in use: it would be taken for the other's answer.
      const isTaken = session.calls[direction].find(id.key) !== undefined;
      return { onward: "nothing", back: composeError(isTaken ? null : id, sender) };
    }
    const table = session.calls[opposite(direction)];
    const call = table.find(id.key);
    if (call === undefined || call.parked) return NOTHING;
    table.close(call);
    if (call.claim === null) return { onward: composeError(call.id, receiver), back: null };
    call.claim(null);
    return NOTHING;
  }

  /** Tells those who wait for answers in a batch that is refused. */
  function disappoint({ bytes, start, end, direction }: Message): void {
    const table = session.calls[opposite(direction)];
    let looked = 0;
    if (table.size === 0) return;
    eachElement(bytes, { start: bytes.indexOf("[", start), end }, (from, to) => {
      if (bytes[from] !== OPEN_OBJECT) return true;
      const reader = createGistReader();
      reader.push(bytes.subarray(from, to));
      const gist = reader.end();
      if (gist.like === "answer") {
        const { onward } = tell(gist, direction, INVALID, INVALID);
        if (typeof onward !== "string") session.say(direction, onward);
      }
      return table.size > 0 && ++looked < MAX_LOOKED_AT;
    });
  }

  /** Carries a decision out, and keeps the book of who waits for what. */
  function settle(turn: Turn, decision: Decision): Outcome {
    const { verdict } = decision;
    if (verdict.do === "park") return settle(turn, UNKNOWN_LIST);
    const { direction } = turn.message;
    const { answers, opens, refersTo } = turn;
    if (answers !== undefined && answers.claim !== null) {
      session.calls[opposite(direction)].close(answers);
      answers.claim(turn.trouble === null ? turn.message : null);
      return NOTHING;
    }
    const outcome = act(verdict, turn);
    // Before the book is changed: should it fail, the message is refused, and nothing is in the book.
    witness.saw(turn, decision, outcome);
    if (answers !== undefined) session.calls[opposite(direction)].close(answers);
    if (opens !== undefined && outcome.onward !== "nothing") session.calls[direction].open(opens);
    if (refersTo !== undefined) {
      if (refersTo.parked) release(refersTo, direction, WITHDRAWN);
      else if (outcome.onward !== "nothing") session.calls[direction].cancel(refersTo);
    }
    if (!turn.exchange.routed) return outcome;
    return { onward: outcome.onward, back: outcome.back, turns: [turn], rule: decision.rule };
  }

  /** Lets a message wait beside the road until the tools are known. Its id is taken meanwhile. */
  async function park(turn: Turn): Promise<Outcome> {
    const { opens: call, message, exchange } = turn;
    const size = message.end - message.start;
    if (call === undefined || parkedBytes + size > maxParkedBytes) return settle(turn, UNKNOWN_LIST);
    // A copy: the message is a part of all that was read with it.
    const kept = whole(Buffer.from(message.bytes.subarray(message.start, message.end)));
    const waiting: Turn = { ...turn, message: openMessage(kept, message.direction, exchange.breaks) };
    const table = session.calls[message.direction];
    call.parked = true;
    table.open(call);
    parkedBytes += size;
    const released = new Promise<void>((wake) => void parked.set(call, { turn: waiting, wake }));
    try {
      await Promise.race([learner.know(waiting), released]);
    } catch (error) {
      witness.trouble("tools:no-list", `the tool list could not be fetched: ${(error as Error).message}`);
    }
    parkedBytes -= size;
    if (!parked.delete(call)) return NOTHING; // withdrawn, or answered when the conversation ended
    table.close(call);
    call.parked = false;
    try {
      const outcome = settle(waiting, judge(policy, waiting));
      return outcome.onward === UNTOUCHED.onward ? { ...outcome, onward: kept.bytes } : outcome;
    } catch (error) {
      return fail(kept, message.direction, error);
    }
  }

  /** Ends the wait of a message that goes nowhere any more. */
  function release(call: Call, direction: Direction, decision: Decision): void {
    session.calls[direction].close(call);
    const held = parked.get(call);
    if (held === undefined) return;
    parked.delete(call);
    held.wake();
    try {
      witness.saw(held.turn, decision, NOTHING);
    } catch (error) {
      witness.trouble("internal", String(error)); // the others who wait are told all the same
    }
  }

  function giveUpOn(call: Call, direction: Direction, error: WireError): Buffer | null {
    if (session.calls[direction].find(call.id.key) !== call) return null;
    release(call, direction, UNKNOWN_LIST);
    if (call.claim === null) return composeError(call.id, error);
    call.claim(null);
    return null;
  }

  return {
    pass,
    lose(gist, bytes, direction) {
      const { code, text } = FAULTS["too-large"];
      witness.lost(session.id, direction, gist, bytes);
      return tell(gist, direction, { code, message: text }, { code: -32000, message: "Response too large" });
    },
    giveUpOn,
    giveUp(direction, error) {
      return session.calls[direction].waiting().flatMap((call) => giveUpOn(call, direction, error) ?? []);
    },
  };
}

/** So many messages of a refused batch are looked at. */
const MAX_LOOKED_AT = 10_000;

const INVALID: WireError = { code: -32000, message: "Invalid response" };
const INTERNAL: WireError = { code: -32603, message: "Internal proxy error" };
