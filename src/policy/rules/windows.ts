/** What becomes of one more in a window. */
export type Taken =
  | { readonly allowed: true; readonly left: number }
  | { readonly allowed: false; readonly retryAfterMs: number };

/** Counts what happens under a key, in windows that slide: no burst at the edge of a minute is two. */
export interface RateLimiter {
  /** Takes one, if fewer than `limit` were taken in the last `windowMs`. What is refused does not count. */
  take(key: string, limit: number, windowMs: number): Taken;
  /** Forgets keys, say those of a rule that is gone. */
  forget(isGone: (key: string) => boolean): void;
  readonly size: number;
}

/** How much is counted at once. */
export interface RateLimiterOptions {
  /** How many keys. The one that nobody has asked for the longest goes first. */
  readonly maxKeys: number;
  /** How many moments are remembered, all keys together: one for each that was allowed. */
  readonly maxMoments: number;
  /** Milliseconds on a clock that does not jump. */
  readonly now: () => number;
}

/** Makes a limiter. It is exact: it remembers when each was taken, and nothing is rounded to a slot. */
export function createRateLimiter({ maxKeys, maxMoments, now }: RateLimiterOptions): RateLimiter {
  const windows = new Map<string, Moments>(); // the one asked for last is last
  let moments = 0;
  let latest = Number.NEGATIVE_INFINITY;

  function drop(key: string, window: Moments): void {
    moments -= window.size;
    windows.delete(key);
  }

  function makeRoom(kept: string): void {
    for (const [key, window] of windows) {
      if (windows.size <= maxKeys && moments <= maxMoments) return;
      if (key !== kept) drop(key, window);
    }
  }

  return {
    get size() {
      return windows.size;
    },
    take(key, limit, windowMs) {
      // Should the clock go back all the same, time stands still until it has caught up.
      const at = (latest = Math.max(latest, now()));
      const window = windows.get(key) ?? createMoments();
      const before = window.size;
      window.forgetUntil(at - windowMs);
      moments -= before - window.size;
      windows.delete(key);
      windows.set(key, window);
      if (window.size >= limit) {
        if (window.size === 0) windows.delete(key);
        // Enough of them must have left for one more to fit in: with a limit lowered meanwhile, that is not the first.
        const leaves = limit <= 0 ? at : window.nth(window.size - limit);
        return { allowed: false, retryAfterMs: Math.max(0, leaves + windowMs - at) };
      }
      window.add(at);
      moments++;
      makeRoom(key);
      return { allowed: true, left: limit - window.size };
    },
    forget(isGone) {
      for (const [key, window] of windows) if (isGone(key)) drop(key, window);
    },
  };
}

/** Moments in order, in a ring that grows. */
interface Moments {
  readonly size: number;
  add(moment: number): void;
  nth(index: number): number;
  /** Forgets those at and before this one. */
  forgetUntil(moment: number): void;
}

function createMoments(): Moments {
  let ring = new Float64Array(4);
  let first = 0;
  let size = 0;
  const nth = (index: number): number => ring[(first + index) & (ring.length - 1)];
  return {
    get size() {
      return size;
    },
    nth,
    add(moment) {
      if (size === ring.length) {
        const larger = new Float64Array(2 * size);
        for (let index = 0; index < size; index++) larger[index] = nth(index);
        ring = larger;
        first = 0;
      }
      ring[(first + size++) & (ring.length - 1)] = moment;
    },
    forgetUntil(moment) {
      while (size > 0 && nth(0) <= moment) {
        first = (first + 1) & (ring.length - 1);
        size--;
      }
    },
  };
}
