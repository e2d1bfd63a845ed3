import { createHash } from "node:crypto";
import { type AnswerKey, keyText } from "./keys.ts";
import type { Maybe } from "./maybe.ts";

/** A response that may be sent again for a later request. */
export interface CachedAnswer {
  /** The result as JSON text, on one line. */
  readonly result: Buffer;
  /** The `ttlMs` that the server put into the result; null if there is none. */
  readonly ttlMs: number | null;
  /** Whether the server marked the result as private to one client. */
  readonly isPrivate: boolean;
}

/** A cached response and its age. */
export interface FoundAnswer {
  readonly answer: CachedAnswer;
  readonly ageMs: number;
}

/** The cache of responses. Each one is kept for a limited time. */
export interface Answers {
  /** A cached response and its age; undefined if there is none or it has expired. */
  find(key: AnswerKey): Maybe<FoundAnswer | undefined>;
  /**
   * Keeps a response as long as both the rule and the server allow, and replaces an earlier one. May be evicted
   * earlier.
   */
  keep(key: AnswerKey, answer: CachedAnswer, ttlMs: number): Maybe<void>;
  /**
   * Empties the cache. A `find` that begins after this call must not return a response that was kept before it, even
   * while the promise is still pending. A remote store can do this with a generation number in its keys.
   */
  clear(): Maybe<void>;
}

/** A cache in the memory of this process. */
export interface MemoryAnswers extends Answers {
  find(key: AnswerKey): FoundAnswer | undefined;
  keep(key: AnswerKey, answer: CachedAnswer, ttlMs: number): void;
  clear(): void;
  readonly bytes: number;
}

/** The clock and the size limits of a cache in memory. */
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
/** Approximate memory that an entry needs in addition to its result. */
const ENTRY_BYTES = 300;

/** Keeps responses in memory. When the cache is full, the least recently used response is evicted first. */
export function createMemoryAnswers(options: MemoryAnswersOptions): MemoryAnswers {
  const { now, maxBytes = MAX_BYTES, maxEntries = MAX_ENTRIES } = options;
  const entries = new Map<string, Entry>(); // least recently used first
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
      // Do not keep a response so large that it would evict many others.
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

/** Keys are hashed because they may be long and numerous, and only the size of the result counts against the limit. */
function hashOf(key: AnswerKey): string {
  return createHash("sha256").update(keyText(key)).digest("base64url");
}
