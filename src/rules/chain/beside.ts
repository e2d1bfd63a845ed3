import type { Decision } from "../../policy/verdict.ts";
import { createSideMemos } from "../../session/call.ts";
import type { Turn } from "../../session/turn.ts";
import type { Chain, PendingDecision, Walked } from "./chain.ts";

/** What two chains decided about the same message. */
export interface Comparison {
  readonly turn: Turn;
  /** What was done. */
  readonly first: Decision;
  /** What the chain beside it would have done. */
  readonly second: Decision;
}

/** How a chain walks beside another one. */
export interface BesideOptions {
  /** Told what both have decided, once both have. */
  readonly report: (comparison: Comparison) => void;
  /** Told how many messages the second chain did not see, because too many were waiting for it. */
  readonly onSkipped: (messages: number) => void;
  /** Told what went wrong in the second chain, or in `report`. */
  readonly onTrouble: (error: unknown) => void;
  /** Does something once the first chain has done its work. */
  readonly defer?: (go: () => void) => void;
  readonly maxWaiting?: number;
  readonly maxWaitingBytes?: number;
}

/** So many messages may wait for a chain beside the first one, and so many bytes of them. */
const MAX_WAITING = 1000;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** A message that the second chain has not decided about. */
interface Waiting {
  readonly turn: Turn;
  readonly walked: Walked | PendingDecision;
  /** Ends the second walk, once it has begun. */
  stop: (() => void) | null;
  isStopped: boolean;
}

/**
 * A chain that decides what the first one decides, while a second one (a shadow policy, an experiment) sees the same
 * messages and its decisions are only reported. The second chain must have a name, and a state of its own; what it does
 * in the world is up to the services it was made with (`createDryServices`).
 *
 * The first chain does not wait for the second: that walks when the message has gone on, one message after the other, and
 * the answer to a request after the request. Where it is too slow, messages are skipped.
 */
export function walkBeside(first: Chain, second: Chain, options: BesideOptions): Chain {
  const { report, onSkipped, onTrouble, defer = setImmediate } = options;
  const { maxWaiting = MAX_WAITING, maxWaitingBytes = MAX_WAITING_BYTES } = options;
  /** Requests that the second chain is still at: their answers come after them. */
  const busy = new WeakMap<object, Promise<void>>();
  /** Requests that it has not seen: neither are their answers for it. */
  const skipped = new WeakSet<object>();
  let queue: Waiting[] = [];
  let waiting = 0;
  let waitingBytes = 0;
  let skippedNow = 0;

  function enqueue(turn: Turn, walked: Walked | PendingDecision): Waiting | null {
    const memos = turn.opens?.beside;
    const asked = turn.answers?.beside;
    if (asked !== undefined && asked !== null && skipped.has(asked)) return null;
    if (waiting >= maxWaiting || waitingBytes + sizeOf(turn) > maxWaitingBytes) {
      if (memos !== undefined && memos !== null) skipped.add(memos);
      skippedNow++;
      return null;
    }
    const one: Waiting = { turn, walked, stop: null, isStopped: false };
    waiting++;
    waitingBytes += sizeOf(turn);
    if (queue.push(one) === 1) defer(runAll);
    return one;
  }

  function runAll(): void {
    const all = queue;
    queue = [];
    for (const one of all) {
      const { opens, answers } = one.turn;
      const before = answers?.beside == null ? undefined : busy.get(answers.beside);
      const done = before === undefined ? run(one) : before.then(() => run(one));
      if (done !== undefined && opens?.beside != null) busy.set(opens.beside, done);
    }
    if (skippedNow > 0) onSkipped(skippedNow);
    skippedNow = 0;
  }

  /** Never rejects. A promise only where the second chain, or the first one, has not decided yet. */
  function run(one: Waiting): void | Promise<void> {
    try {
      const walked = one.isStopped ? null : second.walk(one.turn);
      if (walked !== null && "stop" in walked) {
        one.stop = walked.stop;
        return walked.decided.then((later) => compare(one, later), onTrouble).finally(() => leave(one));
      }
      if (walked !== null) compare(one, walked);
    } catch (error) {
      onTrouble(error);
    }
    leave(one);
  }

  function leave({ turn }: Waiting): void {
    waiting--;
    waitingBytes -= sizeOf(turn);
  }

  function compare(one: Waiting, decision: Decision): void {
    const tell = (firstDecision: Decision): void => {
      if (!one.isStopped) report({ turn: one.turn, first: firstDecision, second: decision });
    };
    if (!("stop" in one.walked)) tell(one.walked);
    else one.walked.decided.then(tell).catch(onTrouble);
  }

  return {
    walk(turn) {
      // Before the first chain decides: where it changes the message, the call that is opened has the same place.
      if (turn.opens !== undefined) turn.opens.beside ??= createSideMemos();
      const walked = first.walk(turn);
      const one = enqueue(turn, walked);
      if (one === null || !("stop" in walked)) return walked;
      return {
        decided: walked.decided,
        stop() {
          one.isStopped = true;
          walked.stop();
          one.stop?.();
        },
      };
    },
  };
}

function sizeOf({ message }: Turn): number {
  return message.end - message.start;
}
