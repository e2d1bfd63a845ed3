/** Limits how many tasks run at a time. The others wait for their turn. */
export interface Turnstile {
  /** Calls `go` now or when there is room. Returns a function that stops waiting; null if too many wait already. */
  enter(go: () => void): (() => void) | null;
  /** Call when a task has ended. */
  leave(): void;
  /** Starts no more tasks. */
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
