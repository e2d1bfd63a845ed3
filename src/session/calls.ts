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
  /** Held by us: the other side has not seen it yet, or the one who asked has not seen the answer. */
  parked: boolean;
  /** What whoever judges wants to know again when the answer comes. */
  memo: Keepsake | null;
}

/** Something that is kept with an open call. */
export interface Keepsake {
  readonly bytes: number;
}

/** The requests of one direction that are waiting. */
export interface CallTable {
  size(): number;
  /** The bytes of all that is kept with the calls. */
  keptBytes(): number;
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

/** So much is kept of what an open call is about. Links may be long: those of data hold all of it. */
export const MAX_SUBJECT_CHARACTERS = 4096;

/** The beginning of a long text, and not the text behind it: a slice would keep that alive. */
export function keepSubject(text: string): string {
  if (text.length <= MAX_SUBJECT_CHARACTERS) return text;
  return Buffer.from(text.slice(0, MAX_SUBJECT_CHARACTERS), "utf16le").toString("utf16le");
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
  let keptBytes = 0;

  function close(call: Call): void {
    if (calls.get(call.id.key) === call) {
      calls.delete(call.id.key);
      if (call.memo !== null) keptBytes -= call.memo.bytes;
    }
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
    keptBytes: () => keptBytes,
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
      if (call.memo !== null) keptBytes += call.memo.bytes;
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
