import { act } from "../action/act.ts";
import { NOTHING, type Outcome } from "../action/outcome.ts";
import { OPEN_OBJECT } from "../message/characters.ts";
import { composeBatch, composeError, type WireError } from "../message/compose.ts";
import { FAULTS } from "../message/faults.ts";
import { createGistReader, type Gist } from "../message/gist.ts";
import { eachElement } from "../message/members.ts";
import { type Direction, openMessage, opposite, type Payload } from "../message/message.ts";
import { GONE, WITHDRAWN } from "../policy/judge.ts";
import { UNKNOWN_LIST } from "../policy/tools.ts";
import type { Decision } from "../policy/verdict.ts";
import { UNAUDITED_RULE } from "../record/event.ts";
import type { Witness } from "../record/witness.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import { passBatch } from "./batch.ts";
import { createDecide, type Rulebook, type Rules } from "./decide.ts";
import type { Learner } from "./learn.ts";
import { createWaitingRoom } from "./waiting.ts";

/** Decides what happens to each message of one session. Every link calls it once per message. */
export interface Passage {
  /** Returns a promise only if the message has to be held. */
  pass(payload: Payload, direction: Direction, exchange: Exchange): Outcome | Promise<Outcome>;
  /** Handles a message that was too large to keep: the open call, if there is one, is answered with an error. */
  lose(gist: Gist, bytes: number, direction: Direction, exchange: Exchange): Outcome;
  /**
   * Handles a message on which the proxy itself failed, perhaps after it was judged: the message is not forwarded, and
   * the open call is answered with an error.
   */
  fail(payload: Payload, direction: Direction, exchange: Exchange, error: unknown, judged: Outcome): Outcome;
  /**
   * The error response for a call that will not be answered; null if it is not open any more, or if it was the proxy's
   * own.
   */
  giveUpOn(call: Call, direction: Direction, error: WireError): Buffer | null;
  /** The error responses for all open calls in one direction, when they will not be answered any more. */
  giveUp(direction: Direction, error: WireError): Buffer[];
}

/** Options of a passage. */
export interface PassageOptions {
  readonly session: Session;
  readonly rulebook: Rulebook;
  readonly learner: Learner;
  readonly witness: Witness;
  /** How many bytes of messages may be held at once. */
  readonly maxParkedBytes: number;
  /** How deeply a message may be nested. */
  readonly maxDepth?: number | undefined;
}

/** Connects the steps: message, session, policy, action. */
export function createPassage(options: PassageOptions): Passage {
  const { session, rulebook, learner, witness, maxParkedBytes, maxDepth } = options;
  const room = createWaitingRoom({
    session,
    maxParkedBytes,
    settle,
    leave: (call, direction) => release(call, direction, GONE),
    fail: (payload, direction, exchange, error) => fail(payload, direction, exchange, error, NOTHING),
  });
  const decide = createDecide({ session, learner, witness, room, settle });

  function pass(payload: Payload, direction: Direction, exchange: Exchange): Outcome | Promise<Outcome> {
    try {
      const message = openMessage(payload, direction, exchange.breaks, maxDepth);
      const turn = session.observe(message, exchange);
      if (message.envelope.kind === "batch") {
        if (turn.trouble === null) return passBatch(pass, message, exchange);
        if (exchange.isMember !== true) return refuseBatch(turn);
      }
      return decide(turn, rulebook.current);
    } catch (error) {
      return fail(payload, direction, exchange, error, NOTHING);
    }
  }

  function fail(
    { bytes, start, end }: Payload,
    direction: Direction,
    exchange: Exchange,
    error: unknown,
    judged: Outcome,
  ): Outcome {
    // Compared by name: chunks of the command that are loaded later have their own copies of the class.
    if (error instanceof Error && error.name === "Unaudited") witness.trouble(UNAUDITED_RULE, error.message);
    else witness.trouble("internal", error instanceof Error ? (error.stack ?? error.message) : String(error));
    if (judged.turns !== undefined) return takeBack(judged, judged.turns, direction);
    const reader = createGistReader();
    reader.push(bytes.subarray(start, end));
    return tell(reader.end(), direction, exchange, INTERNAL, INTERNAL);
  }

  /** Answers the open calls of a message that was judged and is not forwarded after all. */
  function takeBack(judged: Outcome, turns: readonly Turn[], direction: Direction): Outcome {
    // If the outcome was only a response to the sender, it is this response that was not sent.
    const isUnanswered = judged.onward === "nothing" && judged.back !== null;
    const back = turns.flatMap(({ opens }) => {
      if (opens === undefined) return [];
      return isUnanswered ? composeError(opens.id, INTERNAL) : (giveUpOn(opens, direction, INTERNAL) ?? []);
    });
    const onward = turns.flatMap(({ answers }) =>
      answers?.claim === null ? [composeError(answers.id, INTERNAL)] : [],
    );
    return { onward: composeBatch(onward) ?? "nothing", back: composeBatch(back), turns };
  }

  /**
   * Sends an error for a message that was lost: to its sender if it was a request, to the peer that waits if it was a
   * response.
   */
  function tell(
    { id, like }: Gist,
    direction: Direction,
    exchange: Exchange,
    sender: WireError,
    receiver: WireError,
  ): Outcome {
    if (id === null || like === "neither") return NOTHING;
    if (like === "request") {
      // An id that is in use must not be repeated: the error would be taken for the response to the other request.
      const isTaken = session.calls[direction].find(id.key) !== undefined;
      return { onward: "nothing", back: composeError(isTaken ? null : id, sender) };
    }
    const call = session.callFor(id.key, direction, exchange);
    if (call === undefined || call.parked) return NOTHING;
    session.calls[opposite(direction)].close(call);
    if (call.claim === null) return { onward: composeError(call.id, receiver), back: null };
    call.claim(null);
    return NOTHING;
  }

  /** Refuses a batch. Requests that a response in it would have answered get an error instead. */
  function refuseBatch(turn: Turn): Outcome | Promise<Outcome> {
    const { message, exchange } = turn;
    const { bytes, start, end, direction } = message;
    const table = session.calls[opposite(direction)];
    const outcome = decide(turn, rulebook.current);
    if (table.size() === 0 || outcome instanceof Promise) return outcome;
    const errors: Buffer[] = [];
    let looked = 0;
    eachElement(bytes, { start: bytes.indexOf("[", start), end }, (from, to) => {
      if (bytes[from] !== OPEN_OBJECT) return true;
      const call = session.callMeant(
        openMessage({ bytes, start: from, end: to, ascii: false }, direction, "allow"),
        exchange,
      );
      if (call !== undefined) {
        table.close(call);
        if (call.claim === null) errors.push(composeError(call.id, INVALID));
        else call.claim(null);
      }
      return table.size() > 0 && ++looked < MAX_LOOKED_AT;
    });
    // Over HTTP the errors go to the client that waits on this stream. On a shared stream each error is sent as its own
    // message.
    if (exchange.answerable !== null) return { ...outcome, onward: composeBatch(errors) ?? outcome.onward };
    for (const error of errors) session.say(direction, error);
    return outcome;
  }

  /** Carries out a decision, and updates the table of open calls. */
  function settle(turn: Turn, decision: Decision, rules: Rules = rulebook.current): Outcome {
    const { verdict } = decision;
    if (verdict.do === "park") return settle(turn, UNKNOWN_LIST, rules);
    const { direction } = turn.message;
    const { answers, opens, refersTo } = turn;
    if (answers !== undefined && answers.claim !== null) {
      session.calls[opposite(direction)].close(answers);
      answers.claim(turn.trouble === null ? turn.message : null);
      return NOTHING;
    }
    const outcome = act(verdict, turn);
    // Before the table is changed: if the audit fails, the message is refused and the table stays as it was.
    witness.saw(turn, decision, outcome, rules.stamp);
    if (answers !== undefined) session.calls[opposite(direction)].close(answers);
    if (opens !== undefined && outcome.onward !== "nothing") session.calls[direction].open(opens);
    if (refersTo !== undefined) {
      if (refersTo.parked) release(refersTo, direction, WITHDRAWN);
      else if (outcome.onward !== "nothing") session.calls[direction].abandon(refersTo);
    }
    if (!turn.exchange.routed) return outcome;
    return { onward: outcome.onward, back: outcome.back, turns: [turn], rule: decision.rule };
  }

  /** Stops holding a message that will not be forwarded any more. */
  function release(call: Call, direction: Direction, decision: Decision | null): void {
    // A held call was not sent yet, or was answered already: no other response can arrive for its id.
    if (call.parked) session.calls[direction].close(call);
    else session.calls[direction].abandon(call);
    const held = room.release(call);
    if (held === undefined) return;
    try {
      witness.saw(held.turn, decision ?? held.lost, NOTHING, rulebook.current.stamp);
    } catch (error) {
      witness.trouble("internal", String(error)); // other open calls must be answered all the same
    }
  }

  function giveUpOn(call: Call, direction: Direction, error: WireError): Buffer | null {
    if (session.calls[direction].find(call.id.key) !== call) return null;
    release(call, direction, null);
    if (call.claim === null) return composeError(call.id, error);
    call.claim(null);
    return null;
  }

  return {
    pass,
    lose(gist, bytes, direction, exchange) {
      const { code, text } = FAULTS["too-large"];
      witness.lost(session, direction, gist, bytes, rulebook.current.stamp);
      const tooLarge: WireError = { code: -32000, message: "Response too large" };
      return tell(gist, direction, exchange, { code, message: text }, tooLarge);
    },
    fail,
    giveUpOn,
    giveUp(direction, error) {
      return session.calls[direction].waiting().flatMap((call) => giveUpOn(call, direction, error) ?? []);
    },
  };
}

/** At most this many messages of a refused batch are examined. */
const MAX_LOOKED_AT = 10_000;

const INVALID: WireError = { code: -32000, message: "Invalid response" };
const INTERNAL: WireError = { code: -32603, message: "Internal proxy error" };
