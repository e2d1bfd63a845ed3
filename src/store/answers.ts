/** An answer that may be given again. */
export interface CachedAnswer {
  /** JSON text, on one line. */
  readonly result: Buffer;
  /** How long the server says it holds; null where it does not say. */
  readonly ttlMs: number | null;
  /** Whether the server says that it is for nobody else. */
  readonly isPrivate: boolean;
}

/** Answers that may be given again, for a while. */
export interface AnswerCache {
  /** An answer and its age; undefined where there is none any more. */
  find(key: string): { readonly answer: CachedAnswer; readonly ageMs: number } | undefined;
  /** Keeps an answer as long as the rule and the server allow. */
  keep(key: string, answer: CachedAnswer, ttlMs: number): void;
  clear(): void;
  readonly bytes: number;
}

/** How much is kept, by the clock that is given. */
export interface AnswerCacheOptions {
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

/** Makes a cache in memory. What was not asked for longest goes first. */
export function createAnswerCache(options: AnswerCacheOptions): AnswerCache {
  const { now, maxBytes = MAX_BYTES, maxEntries = MAX_ENTRIES } = options;
  const entries = new Map<string, Entry>(); // the least recently used first
  let bytes = 0;

  function remove(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    bytes -= sizeOf(entry.answer);
  }

  return {
    get bytes() {
      return bytes;
    },
    find(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      if (now() >= entry.until) {
        bytes -= sizeOf(entry.answer);
        return undefined;
      }
      entries.set(key, entry);
      return { answer: entry.answer, ageMs: now() - entry.since };
    },
    keep(key, answer, ttlMs) {
      remove(key);
      const size = sizeOf(answer);
      // One that takes the place of all others is not worth it.
      if (size > maxBytes / 4) return;
      const since = now();
      const until = since + Math.min(ttlMs, answer.ttlMs ?? Infinity);
      entries.set(key, { answer, since, until });
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
