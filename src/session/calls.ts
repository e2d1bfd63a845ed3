import type { Call } from "./call.ts";
import { createHash } from "node:crypto";
import { createCallIndex } from "./call-index.ts";

/** The open calls of one direction, and the ids that must not be used again. */
export interface CallTable {
  size(): number;
  /** The number of bytes that the chain keeps with all open calls. */
  keptBytes(): number;
  /** The number of bytes that all additional chains together keep with open calls. */
  keptBeside(): number;
  find(key: number | string): Call | undefined;
  /** Whether no further call may be opened. If the table is full, it first abandons the oldest suspended call. */
  isFull(): boolean;
  /** Whether this id belongs to a call that was abandoned. */
  isSpent(key: number | string): boolean;
  /** Whether responses may still arrive, for open calls or for abandoned ones. */
  isPending(): boolean;
  /** Adds a call. Its key must be free. Returns false if the table is full. */
  open(call: Call): boolean;
  /** Removes a call that the peer has answered, or has never received. Its id may be used again. */
  close(call: Call): void;
  /**
   * Removes a call that was cancelled or given up although the peer may still answer it. Its id is spent: otherwise the
   * late response would be taken for the response to the next request with the same id, and judged as such.
   */
  abandon(call: Call): void;
  /**
   * Marks the id of a call as spent that is closed already: the proxy has answered it in place of the peer, which may still
   * answer it.
   */
  spend(call: Call): void;
  /** Marks a call whose stream was interrupted and may be resumed. It stays open, but is abandoned first. */
  suspend(call: Call): void;
  /** All open calls. */
  waiting(): Call[];
}

/**
 * Limit for the subject of an open call; the rest is cut off. URIs may be long: a `data:` URI contains all its data.
 */
export const MAX_SUBJECT_CHARACTERS = 4096;

/** The beginning of a long text, as a copy: a slice would keep the whole text in memory. */
export function keepSubject(text: string): string {
  if (text.length <= MAX_SUBJECT_CHARACTERS) return text;
  return Buffer.from(text.slice(0, MAX_SUBJECT_CHARACTERS), "utf16le").toString("utf16le");
}

/** Limit for the remembered ids of abandoned calls, for one direction of a session. Beyond it the session ends. */
export const MAX_SPENT_IDS = 100_000;

/**
 * Makes a table for at most `maxOpenCalls`. The proxy's own requests do not count: they are few, and their ids are
 * unique. `onExhausted` is called once, when no more spent ids can be remembered; from then on no call is opened.
 */
export function createCallTable(
  maxOpenCalls: number,
  onExhausted: () => void = () => {},
  maxSpentIds = MAX_SPENT_IDS,
): CallTable {
  const calls = createCallIndex();
  const suspended = new Set<Call>(); // the oldest first
  let spent: Set<number | string> | null = null; // created when the first call is abandoned
  let isExhausted = false;
  let keptBytes = 0;
  const keptBeside = { bytes: 0 };
  let own = 0; // how many open calls are the proxy's own: they do not count towards the limit

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
    spend(call);
  }

  function spend(call: Call): void {
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
    spend,
    suspend(call) {
      if (calls.get(call.id.key) === call) suspended.add(call);
    },
    waiting: () => calls.values(),
  };
}

/** Long ids are remembered by their hash, so that the limit on their number also limits the memory. */
function shorten(key: number | string): number | string {
  if (typeof key === "number" || key.length <= MAX_PLAIN_CHARACTERS) return key;
  return createHash("sha256").update(key, "utf16le").digest("base64url");
}

const MAX_PLAIN_CHARACTERS = 43; // as long as the hash
