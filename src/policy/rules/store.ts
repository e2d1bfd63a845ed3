/** Answers that are kept for a while. What is private is found only by whom it was kept for. */
export interface CacheStore {
  /** What is kept under a key, unless its time is over. */
  get(scope: string, key: string): Buffer | undefined;
  /** Keeps a copy. False where it is too large to be kept. */
  set(scope: string, key: string, value: Buffer, ttlMs: number): boolean;
  /** Forgets all that is kept for somebody. */
  forget(scope: string): void;
  readonly size: number;
  readonly bytes: number;
}

/** How much is kept. */
export interface CacheStoreOptions {
  readonly maxEntries: number;
  /** Keys included. */
  readonly maxBytes: number;
  /** One larger than this is not kept at all. */
  readonly maxEntryBytes: number;
  readonly now: () => number;
}

/** The scope of what anybody may have. No session or identity is called so: theirs begin with a word and a colon. */
export const SHARED_SCOPE = "shared";

/** The scope of one session's own. */
export function sessionScope(id: string): string {
  return `session:${id}`;
}

/** The scope of one identity's own, in all its sessions. */
export function identityScope(identity: string): string {
  return `identity:${identity}`;
}

/** Makes a store in memory. Where it is full, what has been asked for least lately goes first. */
export function createCacheStore({ maxEntries, maxBytes, maxEntryBytes, now }: CacheStoreOptions): CacheStore {
  const entries = new Map<string, Entry>(); // the one asked for last is last
  let bytes = 0;

  function drop(id: string): void {
    bytes -= entries.get(id)?.size ?? 0;
    entries.delete(id);
  }

  return {
    get size() {
      return entries.size;
    },
    get bytes() {
      return bytes;
    },
    get(scope, key) {
      const id = idOf(scope, key);
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      if (entry.until <= now()) {
        drop(id);
        return undefined;
      }
      entries.delete(id);
      entries.set(id, entry);
      return entry.value;
    },
    set(scope, key, value, ttlMs) {
      const id = idOf(scope, key);
      drop(id);
      const size = value.length + 2 * id.length;
      if (size > Math.min(maxEntryBytes, maxBytes) || ttlMs <= 0 || maxEntries < 1) return false;
      // A copy: what it is cut from may be many messages long, and would be kept with it.
      entries.set(id, { value: Buffer.from(value), size, until: now() + ttlMs, scope });
      bytes += size;
      for (const [oldest] of entries) {
        if (entries.size <= maxEntries && bytes <= maxBytes) break;
        drop(oldest);
      }
      return true;
    },
    forget(scope) {
      for (const [id, entry] of entries) if (entry.scope === scope) drop(id);
    },
  };
}

interface Entry {
  readonly value: Buffer;
  readonly size: number;
  readonly until: number;
  readonly scope: string;
}

/** No scope and key can be put so that they read as another scope and key. */
function idOf(scope: string, key: string): string {
  return `${scope.length}:${scope}${key}`;
}
