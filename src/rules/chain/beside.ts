import type { Decision } from "../../policy/verdict.ts";
import { createSideMemos } from "../../session/call.ts";
import type { Turn } from "../../session/turn.ts";
import type { Chain, PendingDecision, Walked } from "./chain.ts";

/** The decisions of two chains about the same message. */
export interface Comparison {
  readonly turn: Turn;
  /** The decision that was carried out. */
  readonly first: Decision;
  /** The decision of the second chain, which is only reported. */
  readonly second: Decision;
}

/** The callbacks and limits of a second chain. */
export interface BesideOptions {
  /** Is called once both chains have decided. */
  readonly report: (comparison: Comparison) => void;
  /** Is called with the number of messages that the second chain did not see because its queue was full. */
  readonly onSkipped: (messages: number) => void;
  /** Is called with an error of the second chain or of `report`. */
  readonly onTrouble: (error: unknown) => void;
  /** Runs a function after the first chain has done its work. */
  readonly defer?: (go: () => void) => void;
  readonly maxWaiting?: number;
  readonly maxWaitingBytes?: number;
}

/** The limits of the queue for the second chain: messages, and their bytes. */
const MAX_WAITING = 1000;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** A message that the second chain has not decided about yet. */
interface Waiting {
  readonly turn: Turn;
  readonly walked: Walked | PendingDecision;
  /** Ends the work of the second chain, once it has begun. */
  stop: (() => void) | null;
  isStopped: boolean;
}

/**
 * Combines two chains. The decisions of the first are carried out. The second (a shadow policy, an experiment) sees the
 * same messages, and its decisions are only reported. The second chain must have a name and a state of its own; its
 * side effects depend on the services it was created with (`createDryServices`).
 *
 * The first chain does not wait for the second. The second runs after the message has been handled, one message after
 * another, and judges a response after its request. If it is too slow, messages are skipped.
 */
export function walkBeside(first: Chain, second: Chain, options: BesideOptions): Chain {
  const { report, onSkipped, onTrouble, defer = setImmediate } = options;
  const { maxWaiting = MAX_WAITING, maxWaitingBytes = MAX_WAITING_BYTES } = options;
  /** Requests that the second chain is still judging. It judges their responses after them. */
  const busy = new WeakMap<object, Promise<void>>();
  /** Requests that the second chain has skipped. It skips their responses too. */
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

  /** Never rejects. Returns a promise only if the second chain has to wait for something. */
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
      // Before the first chain decides, because it may copy the call when it changes the message, and both copies must
      // share these memos.
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
