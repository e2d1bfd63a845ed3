/** Lets so many through at a time. The others wait their turn. */
export interface Turnstile {
  /** Calls `go` now or when there is room. Returns how to stop waiting; null where too many wait already. */
  enter(go: () => void): (() => void) | null;
  /** One who went through is done. */
  leave(): void;
  /** Nobody goes through any more. */
  close(): void;
}

/** Makes a turnstile. */
export function createTurnstile(maxInside: number, maxWaiting: number): Turnstile {
  const waiting = new Set<() => void>();
  let inside = 0;
  return {
    enter(go) {
      if (inside < maxInside) {
        inside++;
        go();
        return () => {};
      }
      if (waiting.size >= maxWaiting) return null;
      waiting.add(go);
      return () => void waiting.delete(go);
    },
    leave() {
      const [next] = waiting;
      if (next === undefined) {
        inside--;
        return;
      }
      waiting.delete(next);
      next();
    },
    close() {
      waiting.clear();
      inside = Infinity;
    },
  };
}
