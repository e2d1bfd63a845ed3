import { NOTHING, type Outcome, UNTOUCHED } from "../action/outcome.ts";
import { type Direction, opposite, type Payload } from "../message/message.ts";
import type { Decision } from "../policy/verdict.ts";
import type { Call } from "../session/call.ts";
import type { Exchange } from "../session/exchange.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";

/** Holds messages that have to wait. */
export interface WaitingRoom {
  /** Whether there is room for this message. */
  hasRoom(turn: Turn): boolean;
  /**
   * Holds a message while the session continues. Meanwhile the id of a held request is in use, and the call of a held
   * response does not wait for another one. The wait ends early when the call is cancelled or given up, or when its
   * client has disconnected.
   */
  hold<Value>(
    turn: Turn,
    until: Promise<Value>,
    next: (value: Value) => Outcome | Promise<Outcome>,
    ends: WaitEnds,
  ): Promise<Outcome>;
  /** Stops holding a message that will not be forwarded any more, and returns it. */
  release(call: Call): { readonly turn: Turn; readonly lost: Decision } | undefined;
}

/** What to do when a wait ends for another reason than the promise. */
export interface WaitEnds {
  /** The decision if there is no room to hold the message. */
  readonly noRoom: Decision;
  /** The decision for the audit log if the session ends meanwhile. */
  readonly lost: Decision;
  /**
   * Stops the pending work if the wait ends early. Until that work has ended it keeps the message in memory, so the
   * message still counts.
   */
  readonly stop?: () => void;
}

/** Options of a waiting room. */
export interface WaitingRoomOptions {
  readonly session: Session;
  readonly maxParkedBytes: number;
  readonly settle: (turn: Turn, decision: Decision) => Outcome;
  /** Called when the client of a held request has disconnected. The wait is to be ended. */
  readonly leave: (call: Call, direction: Direction) => void;
  readonly fail: (payload: Payload, direction: Direction, exchange: Exchange, error: unknown) => Outcome;
}

/** Makes a waiting room for one session. */
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
      until.catch(() => {}); // the result is not used, and its failure is ignored
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
      // Cancelled, or answered when the session ended.
      if (value === RELEASED) stop?.();
      if (value === RELEASED || (call !== undefined && parked.get(call)?.turn !== turn)) return NOTHING;
      leave();
      const outcome = await next(value);
      // The bytes must be part of the outcome: the caller no longer has them.
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

/** How much memory a held message counts for. A small message keeps the whole buffer alive that it was read with. */
function sizeOf({ message }: Turn): number {
  return Math.max(message.end - message.start, LEAST_BYTES);
}

const LEAST_BYTES = 16_384;

const RELEASED = Symbol("released");

function nothing(): void {}
