import type { Id } from "../message/id.ts";
import type { Message } from "../message/message.ts";
import type { Method } from "../message/methods.ts";
import type { Era } from "./era.ts";

/** A request that somebody waits for. */
export interface Call {
  readonly id: Id;
  readonly method: Method;
  /** What it is about: the tool, prompt, resource or task. Of a long link only the beginning. */
  readonly subject: string | null;
  /** The cursor it asks a list with; null for the first page, undefined where it is no text, or too long to keep. */
  readonly cursor: string | null | undefined;
  readonly era: Era;
  /** When it went on its way, by the session's clock. */
  readonly since: number;
  /** How often the tool list had changed by then. */
  readonly listVersion: number;
  /** Who takes the answer, where the request is our own. Null where the answer was lost. */
  readonly claim: ((answer: Message | null) => void) | null;
  /** Held by us: the other side has not seen it yet. */
  parked: boolean;
}

/** The requests of one direction that are waiting. */
export interface CallTable {
  size(): number;
  find(key: number | string): Call | undefined;
  /** Adds a call; its key must be free. False when there is no room. */
  open(call: Call): boolean;
  close(call: Call): void;
  /** Marks a call as given up. It is forgotten a while later; until then a late answer passes. */
  cancel(call: Call): void;
  isCancelled(call: Call): boolean;
  /** Marks a call whose stream broke off and may be taken up again. It is remembered as long as there is room. */
  suspend(call: Call): void;
  /** A call that was answered a while ago, where such are remembered: its answer may be brought again. */
  recall(key: number | string): Call | undefined;
  /** All that are still wanted. */
  waiting(): Call[];
}

/** How long after its cancellation a call is remembered. */
export const CANCELLED_FOR_MS = 60_000;

/**
 * Makes a table for at most `maxOpenCalls`. Our own requests are few and always find room. The last
 * `remembered` calls that were closed can be recalled.
 */
export function createCallTable(maxOpenCalls: number, now: () => number, remembered = 0): CallTable {
  const calls = new Map<number | string, Call>();
  const cancelled = new Map<Call, number>(); // with the time, oldest first
  const suspended = new Set<Call>();
  const closed: Call[] = []; // the last ones, in a ring
  let nextClosed = 0;

  function close(call: Call): void {
    if (calls.get(call.id.key) === call) calls.delete(call.id.key);
    if (cancelled.size > 0) cancelled.delete(call);
    if (suspended.size > 0) suspended.delete(call);
    if (remembered > 0) remember(call);
  }

  function remember(call: Call): void {
    closed[nextClosed] = call;
    nextClosed = (nextClosed + 1) % remembered;
  }

  /** Forgets the calls whose time after cancellation is over, and one more when the table is full. */
  function sweep(): void {
    const before = now() - CANCELLED_FOR_MS;
    for (const [call, time] of cancelled) {
      if (time > before && calls.size < maxOpenCalls) return;
      close(call);
    }
  }

  return {
    size: () => calls.size,
    find(key) {
      if (cancelled.size > 0) sweep();
      if (suspended.size > 0 && calls.size >= maxOpenCalls)
        for (const call of suspended) {
          close(call);
          break;
        }
      return calls.get(key);
    },
    open(call) {
      if (calls.size >= maxOpenCalls && call.claim === null) return false;
      calls.set(call.id.key, call);
      return true;
    },
    close,
    cancel(call) {
      if (!cancelled.has(call)) cancelled.set(call, now());
    },
    isCancelled: (call) => cancelled.has(call),
    suspend: (call) => void suspended.add(call),
    recall: (key) => closed.findLast((call) => call.id.key === key),
    waiting: () => [...calls.values()].filter((call) => !cancelled.has(call)),
  };
}
