import { createMoments, type Moments } from "./moments.ts";

/** What becomes of one more in a window. */
export type Taken =
  | { readonly allowed: true; readonly left: number }
  | {
      readonly allowed: false;
      readonly retryAfterMs: number;
      /** Whether it is refused because more keys are counted than there is room for, and not because of its own limit. */
      readonly isFull?: true;
    };

/** Counts what happens under a key, in windows that slide: no burst at the edge of a minute is two. */
export interface RateLimiter {
  /**
   * Takes one, if fewer than `limit` were taken in the last `windowMs`. What is refused does not count. Of the key, all
   * that stands before its first NUL is the rule it belongs to.
   */
  take(key: string, limit: number, windowMs: number): Taken;
  /** Forgets keys, say those of a rule that is gone. */
  forget(isGone: (key: string) => boolean): void;
  readonly size: number;
}

/** How much is counted at once. */
export interface RateLimiterOptions {
  /** How many keys. Beyond that a fresh key is refused: to forget another one would be to give it a fresh limit. */
  readonly maxKeys: number;
  /** How many keys of one rule find room in any case, so that a rule whose keys clients can invent does not stop the others. */
  readonly reservedKeys: number;
  /** How many moments are remembered, all keys together. Beyond that more of them are put together. */
  readonly maxMoments: number;
  /** Milliseconds on a clock that does not jump. */
  readonly now: () => number;
}

interface Window {
  readonly moments: Moments;
  /** When all of it is over. */
  until: number;
}

/** How often it is looked for windows that are over, at most: there may be many. */
const SWEEP_MS = 50;

/** So many moments of a key are remembered one by one. What comes then is put together in parts of the window. */
const MAX_EXACT = 512;
const FINE_PARTS = 512;
/** The same where there is no room for more moments. */
const COARSE_PARTS = 8;

/** Makes a limiter. It is exact for limits of up to 512; with higher ones what was taken may count a little longer. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { maxKeys, reservedKeys, maxMoments, now } = options;
  const windows = new Map<string, Window>();
  const ofRule = new Map<string, number>(); // how many keys each rule has
  let moments = 0;
  let latest = Number.NEGATIVE_INFINITY;
  let nextSweep = Number.NEGATIVE_INFINITY;
  let firstEnd = Infinity; // of the windows that the last sweep found

  function drop(key: string, window: Window): void {
    moments -= window.moments.places;
    windows.delete(key);
    const left = (ofRule.get(ruleOf(key)) ?? 1) - 1;
    if (left === 0) ofRule.delete(ruleOf(key));
    else ofRule.set(ruleOf(key), left);
  }

  /** Forgets the windows that are over. */
  function sweep(at: number): void {
    if (at < nextSweep) return;
    firstEnd = Infinity;
    for (const [key, window] of windows) {
      if (window.until <= at) drop(key, window);
      else firstEnd = Math.min(firstEnd, window.until);
    }
    nextSweep = Math.max(at + SWEEP_MS, firstEnd);
  }

  function hasRoom(key: string, at: number): boolean {
    if (windows.size < maxKeys) return true;
    sweep(at);
    return windows.size < maxKeys || (ofRule.get(ruleOf(key)) ?? 0) < reservedKeys;
  }

  function open(key: string): Window {
    const window = { moments: createMoments(), until: 0 };
    windows.set(key, window);
    ofRule.set(ruleOf(key), (ofRule.get(ruleOf(key)) ?? 0) + 1);
    return window;
  }

  function add(window: Window, at: number, windowMs: number): void {
    const before = window.moments.places;
    const parts = moments >= maxMoments ? COARSE_PARTS : before >= MAX_EXACT ? FINE_PARTS : Infinity;
    window.moments.add(at, windowMs / parts);
    window.until = Math.max(window.until, at + windowMs);
    moments += window.moments.places - before;
  }

  return {
    get size() {
      return windows.size;
    },
    take(key, limit, windowMs) {
      // Should the clock go back all the same, time stands still until it has caught up.
      const at = (latest = Math.max(latest, now()));
      let window = windows.get(key);
      if (window === undefined) {
        if (limit <= 0) return { allowed: false, retryAfterMs: windowMs };
        if (!hasRoom(key, at)) return { allowed: false, retryAfterMs: Math.max(1, firstEnd - at), isFull: true };
        window = open(key);
      }
      const { moments: taken } = window;
      const before = taken.places;
      taken.forgetUntil(at - windowMs);
      moments -= before - taken.places;
      if (taken.size >= limit) {
        // Enough of them must have left for one more to fit in: with a limit lowered meanwhile, that is not the first.
        const leaves = limit <= 0 ? at : taken.whenLeft(limit - 1);
        return { allowed: false, retryAfterMs: Math.max(0, leaves + windowMs - at) };
      }
      add(window, at, windowMs);
      return { allowed: true, left: limit - taken.size };
    },
    forget(isGone) {
      for (const [key, window] of windows) if (isGone(key)) drop(key, window);
    },
  };
}

function ruleOf(key: string): string {
  const end = key.indexOf("\0");
  return end < 0 ? key : key.slice(0, end);
}
