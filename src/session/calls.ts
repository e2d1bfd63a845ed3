import type { Call } from "./call.ts";
import { createHash } from "node:crypto";
import { createCallIndex } from "./call-index.ts";

/** The requests of one direction that are waiting, and the ids that must not be used again. */
export interface CallTable {
  size(): number;
  /** The bytes of all that the chain keeps with the calls. */
  keptBytes(): number;
  /** The same for all chains beside it together. */
  keptBeside(): number;
  find(key: number | string): Call | undefined;
  /** Whether no further call may be opened. A suspended call gives up its place first. */
  isFull(): boolean;
  /** Whether this id belongs to a call that was abandoned. */
  isSpent(key: number | string): boolean;
  /** Whether answers may still come: to calls that are open, or to some that were abandoned. */
  isPending(): boolean;
  /** Adds a call; its key must be free. False when the table is full. */
  open(call: Call): boolean;
  /** Removes a call that the other side has answered, or has never seen. Its id may be used again. */
  close(call: Call): void;
  /**
   * Removes a call that was cancelled or given up although the other side may still answer it. Its id is spent: the late
   * answer would otherwise be taken for the answer to the next request with the same id, and judged as that.
   */
  abandon(call: Call): void;
  /** Marks a call whose stream broke off and may be resumed. It stays open, but is the first to be abandoned. */
  suspend(call: Call): void;
  /** All that are open. */
  waiting(): Call[];
}

/** So much is kept of what an open call is about. Links may be long: those of data hold all of it. */
export const MAX_SUBJECT_CHARACTERS = 4096;

/** The beginning of a long text, and not the text behind it: a slice would keep that alive. */
export function keepSubject(text: string): string {
  if (text.length <= MAX_SUBJECT_CHARACTERS) return text;
  return Buffer.from(text.slice(0, MAX_SUBJECT_CHARACTERS), "utf16le").toString("utf16le");
}

/** How many ids of abandoned calls are remembered in one direction of a session. With one more, the session ends. */
export const MAX_SPENT_IDS = 100_000;

/**
 * Makes a table for at most `maxOpenCalls`. Our own requests are few, have ids that nobody else uses, and always find
 * room. `onExhausted` is called once, when no more spent ids can be remembered; from then on no call is opened.
 */
export function createCallTable(
  maxOpenCalls: number,
  onExhausted: () => void = () => {},
  maxSpentIds = MAX_SPENT_IDS,
): CallTable {
  const calls = createCallIndex();
  const suspended = new Set<Call>(); // the oldest first
  let spent: Set<number | string> | null = null; // made when the first call is abandoned
  let isExhausted = false;
  let keptBytes = 0;
  const keptBeside = { bytes: 0 };
  let own = 0; // of the open calls, those that are ours: they take nobody's place

  function close(call: Call): void {
    if (calls.remove(call)) {
      if (call.claim !== null) own--;
      if (call.memo !== null) keptBytes -= call.memo.bytes;
      if (call.beside !== null) {
        keptBeside.bytes -= call.beside.bytes;
        call.beside.counter = null;
      }
    }
    if (suspended.size > 0) suspended.delete(call);
  }

  function abandon(call: Call): void {
    if (calls.get(call.id.key) !== call) return;
    close(call);
    if (call.claim !== null || isExhausted) return;
    spent ??= new Set();
    if (spent.size < maxSpentIds) return void spent.add(shorten(call.id.key));
    isExhausted = true;
    onExhausted();
  }

  return {
    size: () => calls.size,
    keptBytes: () => keptBytes,
    keptBeside: () => keptBeside.bytes,
    find: (key) => calls.get(key),
    isFull() {
      if (isExhausted) return true;
      if (calls.size - own < maxOpenCalls) return false;
      for (const oldest of suspended) {
        abandon(oldest);
        return isExhausted;
      }
      return true;
    },
    isPending: () => calls.size > 0 || spent !== null,
    isSpent: (key) => spent !== null && spent.has(shorten(key)),
    open(call) {
      if (call.claim !== null) own++;
      else if (calls.size - own >= maxOpenCalls) return false;
      calls.add(call);
      if (call.memo !== null) keptBytes += call.memo.bytes;
      if (call.beside !== null) {
        keptBeside.bytes += call.beside.bytes;
        call.beside.counter = keptBeside;
      }
      return true;
    },
    close,
    abandon,
    suspend(call) {
      if (calls.get(call.id.key) === call) suspended.add(call);
    },
    waiting: () => calls.values(),
  };
}

/** Long ids are remembered by their hash, so that the bound on their number is one on memory too. */
function shorten(key: number | string): number | string {
  if (typeof key === "number" || key.length <= MAX_PLAIN_CHARACTERS) return key;
  return createHash("sha256").update(key, "utf16le").digest("base64url");
}

const MAX_PLAIN_CHARACTERS = 43; // as long as the hash
