import { createHash } from "node:crypto";
import { type AnswerKey, keyText } from "./keys.ts";
import type { Maybe } from "./maybe.ts";

/** An answer that may be given again. */
export interface CachedAnswer {
  /** JSON text, on one line. */
  readonly result: Buffer;
  /** How long the server says it holds; null where it does not say. */
  readonly ttlMs: number | null;
  /** Whether the server says that it is for nobody else. */
  readonly isPrivate: boolean;
}

/** An answer that was found, and how long ago it was kept. */
export interface FoundAnswer {
  readonly answer: CachedAnswer;
  readonly ageMs: number;
}

/** Answers that may be given again, for a while. */
export interface Answers {
  /** An answer and its age; undefined where there is none, or where its time is over. */
  find(key: AnswerKey): Maybe<FoundAnswer | undefined>;
  /** Keeps an answer as long as both the rule and the server allow, in place of an earlier one. May be forgotten earlier. */
  keep(key: AnswerKey, answer: CachedAnswer, ttlMs: number): Maybe<void>;
  /**
   * Forgets all answers. No `find` that begins after this was called finds an answer that was kept before, even if the
   * promise has not been resolved yet: a store elsewhere can have a generation number in its keys.
   */
  clear(): Maybe<void>;
}

/** Answers that are kept in the memory of this process. */
export interface MemoryAnswers extends Answers {
  find(key: AnswerKey): FoundAnswer | undefined;
  keep(key: AnswerKey, answer: CachedAnswer, ttlMs: number): void;
  clear(): void;
  readonly bytes: number;
}

/** How much is kept, by the clock that is given. */
export interface MemoryAnswersOptions {
  readonly now: () => number;
  readonly maxBytes?: number;
  readonly maxEntries?: number;
}

interface Entry {
  readonly answer: CachedAnswer;
  readonly since: number;
  readonly until: number;
}

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_ENTRIES = 10_000;
/** What an entry costs beside its answer, roughly. */
const ENTRY_BYTES = 300;

/** Keeps answers in memory. Where there is no room, the answer that was not asked for longest goes first. */
export function createMemoryAnswers(options: MemoryAnswersOptions): MemoryAnswers {
  const { now, maxBytes = MAX_BYTES, maxEntries = MAX_ENTRIES } = options;
  const entries = new Map<string, Entry>(); // the least recently used first
  let bytes = 0;

  function remove(hash: string): void {
    const entry = entries.get(hash);
    if (entry === undefined) return;
    entries.delete(hash);
    bytes -= sizeOf(entry.answer);
  }

  return {
    get bytes() {
      return bytes;
    },
    find(key) {
      const hash = hashOf(key);
      const entry = entries.get(hash);
      if (entry === undefined) return undefined;
      entries.delete(hash);
      if (now() >= entry.until) {
        bytes -= sizeOf(entry.answer);
        return undefined;
      }
      entries.set(hash, entry);
      return { answer: entry.answer, ageMs: now() - entry.since };
    },
    keep(key, answer, ttlMs) {
      const hash = hashOf(key);
      remove(hash);
      const size = sizeOf(answer);
      // An answer that takes the place of many others is not kept.
      if (size > maxBytes / 4) return;
      const since = now();
      const until = since + Math.min(ttlMs, answer.ttlMs ?? Infinity);
      entries.set(hash, { answer, since, until });
      bytes += size;
      for (const oldest of entries.keys()) {
        if (bytes <= maxBytes && entries.size <= maxEntries) break;
        remove(oldest);
      }
    },
    clear() {
      entries.clear();
      bytes = 0;
    },
  };
}

function sizeOf({ result }: CachedAnswer): number {
  return result.length + ENTRY_BYTES;
}

/** Keys may be long, and there may be many of them: what counts against the bound is the answer. */
function hashOf(key: AnswerKey): string {
  return createHash("sha256").update(keyText(key)).digest("base64url");
}
