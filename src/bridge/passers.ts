/** A map for entries that live only for a short time, in insertion order. */
export interface Passers<Key, Value> {
  size(): number;
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
  /** The first value that satisfies the test. */
  find(isSo: (value: Value) => boolean): Value | undefined;
  /** A copy of all entries. */
  entries(): (readonly [Key, Value])[];
}

/**
 * Makes a map for entries that come and go with every request. When a Map is rehashed, the old table keeps its contents
 * and a reference to the next table. Once one such table is in V8's old generation, all tables after it get there too
 * and keep every request alive until a full collection. So `delete` also clears the value itself.
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
