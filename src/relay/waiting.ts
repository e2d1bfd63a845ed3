import { NOTHING, type Outcome, UNTOUCHED } from "../action/outcome.ts";
import { type Direction, opposite, type Payload } from "../message/message.ts";
import type { Decision } from "../policy/verdict.ts";
import type { Call } from "../session/calls.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";

/** Where messages wait beside the road. */
export interface WaitingRoom {
  /** Whether one of this size would find room. */
  hasRoom(turn: Turn): boolean;
  /**
   * Lets a message wait; the conversation goes on around it. The id of a request is taken meanwhile, and that of an
   * answer is not waited for any more. Whoever withdraws the call, or gives it up, ends the wait. `instead` is what
   * becomes of it where there is no room.
   */
  hold<Value>(
    turn: Turn,
    until: Promise<Value>,
    next: (value: Value) => Outcome | Promise<Outcome>,
    instead: Decision,
  ): Promise<Outcome>;
  /** Ends the wait of a message that goes nowhere any more, and says which one that was. */
  release(call: Call): { readonly turn: Turn; readonly instead: Decision } | undefined;
}

/** What a waiting room needs. */
export interface WaitingRoomOptions {
  readonly session: Session;
  readonly maxParkedBytes: number;
  readonly settle: (turn: Turn, decision: Decision) => Outcome;
  readonly fail: (payload: Payload, direction: Direction, error: unknown) => Outcome;
}

/** Makes a waiting room for one conversation. */
export function createWaitingRoom({ session, maxParkedBytes, settle, fail }: WaitingRoomOptions): WaitingRoom {
  let parkedBytes = 0;
  const parked = new Map<Call, { readonly turn: Turn; readonly instead: Decision; readonly wake: () => void }>();

  function hasRoom({ message }: Turn): boolean {
    return parkedBytes + message.end - message.start <= maxParkedBytes;
  }

  async function hold<Value>(
    turn: Turn,
    until: Promise<Value>,
    next: (value: Value) => Outcome | Promise<Outcome>,
    instead: Decision,
  ): Promise<Outcome> {
    const { opens, answers, message } = turn;
    const { bytes, start, end, direction, ascii } = message;
    if (!hasRoom(turn)) return settle(turn, instead);
    const call = opens ?? answers;
    const table = session.calls[opens === undefined ? opposite(direction) : direction];
    if (opens !== undefined) table.open(opens);
    if (call !== undefined) call.parked = true;
    parkedBytes += end - start;
    const released = new Promise<typeof RELEASED>((resolve) => {
      if (call !== undefined) parked.set(call, { turn, instead, wake: () => resolve(RELEASED) });
    });
    try {
      const value = await Promise.race([until, released]);
      // Withdrawn, or answered when the conversation ended.
      if (value === RELEASED || (call !== undefined && parked.get(call)?.turn !== turn)) return NOTHING;
      leave();
      const outcome = await next(value);
      // What is sent on has to be at hand: those who brought it have gone on.
      return outcome.onward === UNTOUCHED.onward ? { ...outcome, onward: bytes.subarray(start, end) } : outcome;
    } catch (error) {
      leave();
      return fail({ bytes, start, end, ascii }, direction, error);
    } finally {
      parkedBytes -= end - start;
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

const RELEASED = Symbol("released");
