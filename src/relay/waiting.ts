import { NOTHING, type Outcome, UNTOUCHED } from "../action/outcome.ts";
import { type Direction, opposite, type Payload } from "../message/message.ts";
import type { Decision } from "../policy/verdict.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";

/** Where messages wait beside the road. */
export interface WaitingRoom {
  /** Whether one of this size would find room. */
  hasRoom(turn: Turn): boolean;
  /**
   * Lets a message wait; the conversation goes on around it. The id of a request is taken meanwhile, and that of an
   * answer is not waited for any more. The wait ends early when the call is cancelled or given up, and when its client has
   * gone.
   */
  hold<Value>(
    turn: Turn,
    until: Promise<Value>,
    next: (value: Value) => Outcome | Promise<Outcome>,
    ends: WaitEnds,
  ): Promise<Outcome>;
  /** Ends the wait of a message that goes nowhere any more, and says which one that was. */
  release(call: Call): { readonly turn: Turn; readonly lost: Decision } | undefined;
}

/** How the wait of a message ends, other than by what it waits for. */
export interface WaitEnds {
  /** The decision where there is no room for it to wait. */
  readonly noRoom: Decision;
  /** The decision, for the audit log, where the conversation ends meanwhile. */
  readonly lost: Decision;
  /**
   * Ends what is waited for, where the wait ends early. Until that has ended it keeps the message, and the message takes its
   * room.
   */
  readonly stop?: () => void;
}

/** What a waiting room needs. */
export interface WaitingRoomOptions {
  readonly session: Session;
  readonly maxParkedBytes: number;
  readonly settle: (turn: Turn, decision: Decision) => Outcome;
  /** The client has gone that sent this request, which is held here: its wait is to be ended. */
  readonly leave: (call: Call, direction: Direction) => void;
  readonly fail: (payload: Payload, direction: Direction, exchange: Exchange, error: unknown) => Outcome;
}

/** Makes a waiting room for one conversation. */
export function createWaitingRoom({
  session,
  maxParkedBytes,
  settle,
  leave: onLeave,
  fail,
}: WaitingRoomOptions): WaitingRoom {
  let parkedBytes = 0;
  const parked = new Map<Call, { readonly turn: Turn; readonly lost: Decision; readonly wake: () => void }>();

  function hasRoom(turn: Turn): boolean {
    return parkedBytes + sizeOf(turn) <= maxParkedBytes;
  }

  async function hold<Value>(
    turn: Turn,
    until: Promise<Value>,
    next: (value: Value) => Outcome | Promise<Outcome>,
    { noRoom, lost, stop }: WaitEnds,
  ): Promise<Outcome> {
    const { opens, answers, message } = turn;
    const { bytes, start, end, direction, ascii } = message;
    if (!hasRoom(turn)) {
      stop?.();
      until.catch(() => {}); // nobody waits for it, nor for its failure
      return settle(turn, noRoom);
    }
    const call = opens ?? answers;
    const table = session.calls[opens === undefined ? opposite(direction) : direction];
    if (opens !== undefined) table.open(opens);
    if (call !== undefined) call.parked = true;
    const size = sizeOf(turn);
    const makeRoom = (): void => void (parkedBytes -= size);
    parkedBytes += size;
    if (stop !== undefined) until.then(makeRoom, makeRoom);
    const { presence } = turn.exchange;
    let onGone = nothing;
    const released = new Promise<typeof RELEASED>((resolve) => {
      const wake = (): void => resolve(RELEASED);
      if (call !== undefined) parked.set(call, { turn, lost, wake });
      onGone = (): void => {
        if (opens !== undefined) onLeave(opens, direction);
        wake();
      };
    });
    presence?.once("close", onGone);
    if (presence?.destroyed === true) onGone();
    try {
      const value = await Promise.race([until, released]);
      // Withdrawn, or answered when the conversation ended.
      if (value === RELEASED) stop?.();
      if (value === RELEASED || (call !== undefined && parked.get(call)?.turn !== turn)) return NOTHING;
      leave();
      const outcome = await next(value);
      // What is sent on has to be at hand: those who brought it have gone on.
      return outcome.onward === UNTOUCHED.onward
        ? { ...outcome, onward: bytes.subarray(start, end), isUnchanged: true }
        : outcome;
    } catch (error) {
      leave();
      return fail({ bytes, start, end, ascii }, direction, turn.exchange, error);
    } finally {
      presence?.off("close", onGone);
      if (stop === undefined) makeRoom();
    }

    function leave(): void {
      if (call === undefined || parked.get(call)?.turn !== turn) return;
      parked.delete(call);
      call.parked = false;
      if (opens !== undefined) table.close(opens);
    }
  }

  return {
    hasRoom,
    hold,
    release(call) {
      const held = parked.get(call);
      parked.delete(call);
      held?.wake();
      return held;
    },
  };
}

/** What a message takes up while it waits. A small one keeps others alive that were read with it. */
function sizeOf({ message }: Turn): number {
  return Math.max(message.end - message.start, LEAST_BYTES);
}

const LEAST_BYTES = 16_384;

const RELEASED = Symbol("released");

function nothing(): void {}
