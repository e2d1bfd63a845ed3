import type { LimitKey } from "./keys.ts";
import type { Maybe } from "./maybe.ts";
import { createMoments, type Moments } from "./moments.ts";

/** The result of counting one more event. */
export type Taken =
  | { readonly allowed: true; readonly left: number }
  | {
      readonly allowed: false;
      readonly retryAfterMs: number;
      /** Whether the event is refused because too many keys are counted, and not because of its own limit. */
      readonly isFull?: true;
    };

/** Counts events by key in sliding windows, so that a burst across the boundary of two minutes counts as one burst. */
export interface Limits {
  /**
   * Counts one event if there were fewer than `limit` in the last `windowMs`. A refused event is not counted.
   *
   * Checking and counting must be one atomic step: of any number of concurrent attempts, by any number of processes
   * that share the store, no more than `limit` are allowed.
   */
  take(key: LimitKey, limit: number, windowMs: number): Maybe<Taken>;
  /**
   * Resets all limits of these rules, including those that only observe. Need not be atomic with a concurrent `take`.
   */
  forgetRules(ids: readonly string[]): Maybe<void>;
}

/** Limits counted in the memory of this process. */
export interface MemoryLimits extends Limits {
  take(key: LimitKey, limit: number, windowMs: number): Taken;
  forgetRules(ids: readonly string[]): void;
  /** How many keys are counted. */
  readonly size: number;
}

/** The clock and the size limits of the counters. */
export interface MemoryLimitsOptions {
  /** How many keys are counted. Beyond that, a new key is refused: evicting another key would reset its limit. */
  readonly maxKeys: number;
  /**
   * How many keys each rule may always have, so that a rule whose keys clients can invent does not block other rules.
   */
  readonly reservedKeys: number;
  /** How many timestamps are kept for all keys together. Beyond that, more of them are merged. */
  readonly maxMoments: number;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
}

interface Window {
  readonly moments: Moments;
  /** When the last event leaves the window. */
  until: number;
}

/** The shortest time between two sweeps for expired windows. A sweep visits every key. */
const SWEEP_MS = 50;

/** A key has this many exact timestamps. Later ones are merged, one for each of `FINE_PARTS` parts of the window. */
const MAX_EXACT = 512;
const FINE_PARTS = 512;
/** The same once `maxMoments` is reached. */
const COARSE_PARTS = 8;

/** The windows of one rule or interceptor, by key; enforced and observing limits have separate groups. */
type Group = Map<string, Window>;

/** Groups by the id of their owner. Owner kind and mode select the map, so that a lookup does not build a string. */
interface Groups {
  readonly acting: Map<string, Group>;
  readonly watched: Map<string, Group>;
}

/**
 * Counts in memory. Limits of up to 512 are exact; with a higher limit, an event may count a little longer than its
 * window.
 */
export function createMemoryLimits(options: MemoryLimitsOptions): MemoryLimits {
  const { maxKeys, reservedKeys, maxMoments, now } = options;
  const owners: Readonly<Record<LimitKey["owner"], Groups>> = {
    rule: { acting: new Map(), watched: new Map() },
    interceptor: { acting: new Map(), watched: new Map() },
  };
  let size = 0; // keys in all groups
  let moments = 0;
  let latest = Number.NEGATIVE_INFINITY;
  let nextSweep = Number.NEGATIVE_INFINITY;
  let firstEnd = Infinity; // when the first of the windows seen by the last sweep expires

  /** Removes expired windows. */
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
      // If the clock goes back all the same, use the latest time seen until the clock has caught up.
      const at = (latest = Math.max(latest, now()));
      const groups = watching ? owners[owner].watched : owners[owner].acting;
      const text = `${nth}:${key}`; // unambiguous, because `nth` has no colon
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
        // If the limit was lowered since, several events have to leave the window before one more fits.
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
