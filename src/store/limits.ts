import type { LimitKey } from "./keys.ts";
import type { Maybe } from "./maybe.ts";
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

/** Counts what happens under a key, in windows that slide: a burst across the edge of a minute counts as one burst. */
export interface Limits {
  /**
   * Takes one, if fewer than `limit` were taken in the last `windowMs`. A refused attempt does not count.
   *
   * To look and to take must be one atomic step: of any number of attempts at the same time, by any number of processes
   * that share the store, no more than `limit` are allowed.
   */
  take(key: LimitKey, limit: number, windowMs: number): Maybe<Taken>;
  /** Forgets all that was counted for these rules, watched or not. Need not be atomic with a `take` at the same time. */
  forgetRules(ids: readonly string[]): Maybe<void>;
}

/** Limits that are counted in the memory of this process. */
export interface MemoryLimits extends Limits {
  take(key: LimitKey, limit: number, windowMs: number): Taken;
  forgetRules(ids: readonly string[]): void;
  /** How many keys are counted. */
  readonly size: number;
}

/** How much is counted at once. */
export interface MemoryLimitsOptions {
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

/** The keys of one rule or interceptor, acting or watched. */
type Group = Map<string, Window>;

/** Groups by the id of their owner. Four of them, so that finding a group needs no string of its own. */
interface Groups {
  readonly acting: Map<string, Group>;
  readonly watched: Map<string, Group>;
}

/** Counts in memory. It is exact for limits of up to 512; with higher ones what was taken may count a little longer. */
export function createMemoryLimits(options: MemoryLimitsOptions): MemoryLimits {
  const { maxKeys, reservedKeys, maxMoments, now } = options;
  const owners: Readonly<Record<LimitKey["owner"], Groups>> = {
    rule: { acting: new Map(), watched: new Map() },
    interceptor: { acting: new Map(), watched: new Map() },
  };
  let size = 0; // keys of all groups
  let moments = 0;
  let latest = Number.NEGATIVE_INFINITY;
  let nextSweep = Number.NEGATIVE_INFINITY;
  let firstEnd = Infinity; // of the windows that the last sweep found

  /** Forgets the windows that are over. */
  function sweep(at: number): void {
    if (at < nextSweep) return;
    firstEnd = Infinity;
    for (const { acting, watched } of [owners.rule, owners.interceptor])
      for (const groups of [acting, watched])
        for (const [id, group] of groups) {
          for (const [text, window] of group) {
            if (window.until > at) firstEnd = Math.min(firstEnd, window.until);
            else drop(group, text, window);
          }
          if (group.size === 0) groups.delete(id);
        }
    nextSweep = Math.max(at + SWEEP_MS, firstEnd);
  }

  function drop(group: Group, text: string, window: Window): void {
    moments -= window.moments.places;
    size--;
    group.delete(text);
  }

  function hasRoom(groups: Map<string, Group>, id: string, at: number): boolean {
    if (size < maxKeys) return true;
    sweep(at);
    return size < maxKeys || (groups.get(id)?.size ?? 0) < reservedKeys;
  }

  function open(groups: Map<string, Group>, id: string, text: string): Window {
    const window = { moments: createMoments(), until: 0 };
    let group = groups.get(id);
    if (group === undefined) groups.set(id, (group = new Map()));
    group.set(text, window);
    size++;
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
      return size;
    },
    take({ owner, id, nth, watching, key }, limit, windowMs) {
      // Should the clock go back all the same, time stands still until it has caught up.
      const at = (latest = Math.max(latest, now()));
      const groups = watching ? owners[owner].watched : owners[owner].acting;
      const text = `${nth}:${key}`; // a number has no colon in it
      let window = groups.get(id)?.get(text);
      if (window === undefined) {
        if (limit <= 0) return { allowed: false, retryAfterMs: windowMs };
        if (!hasRoom(groups, id, at)) return { allowed: false, retryAfterMs: Math.max(1, firstEnd - at), isFull: true };
        window = open(groups, id, text);
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
    forgetRules(ids) {
      for (const groups of [owners.rule.acting, owners.rule.watched])
        for (const id of ids) {
          const group = groups.get(id);
          if (group === undefined) continue;
          for (const [text, window] of group) drop(group, text, window);
          groups.delete(id);
        }
    },
  };
}
