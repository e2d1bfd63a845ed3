/** What waits under a key for a short while, in the order it came. */
export interface Passers<Key, Value> {
  size(): number;
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
  /** The first that is so. */
  find(isSo: (value: Value) => boolean): Value | undefined;
  /** All of them, as they are now. */
  entries(): (readonly [Key, Value])[];
}

/**
 * Makes a map for what comes and goes with every request. A Map that is laid out anew leaves a table behind which holds
 * what was in it, and the next table. Once one of those is in V8's old generation all that follow get there, and keep
 * every request until a full collection. So what is taken out is let go of here.
 */
export function createPassers<Key, Value>(): Passers<Key, Value> {
  const boxes = new Map<Key, { value: Value | null }>();
  return {
    size: () => boxes.size,
    get: (key) => boxes.get(key)?.value ?? undefined,
    set(key, value) {
      boxes.set(key, { value });
    },
    delete(key) {
      const box = boxes.get(key);
      if (box === undefined) return;
      box.value = null;
      boxes.delete(key);
    },
    find(isSo) {
      for (const { value } of boxes.values()) if (value !== null && isSo(value)) return value;
      return undefined;
    },
    entries: () => [...boxes].flatMap(([key, { value }]) => (value === null ? [] : [[key, value] as const])),
  };
}
