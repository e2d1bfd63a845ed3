import type { Call } from "./call.ts";

/** Open calls by the key of their id, in the order in which they were added. */
export interface CallIndex {
  readonly size: number;
  get(key: number | string): Call | undefined;
  /** Adds a call. Its key must not be in the index yet. */
  add(call: Call): void;
  /** Returns false if the call is not in the index. Another call with the same key stays. */
  remove(call: Call): boolean;
  values(): Call[];
}

/** Initial size of the array, which is created for the first call. */
const FIRST_PLACES = 16;
/** Maximum size of the array. Calls that do not find a free place are kept in a Map. */
const MAX_PLACES = 1024;

/**
 * Makes an index. Most ids are integers that count up, so their low bits are the call's place in an array. A Map alone
 * would work, but it is rebuilt whenever its free places are used up, and adding and removing calls uses them up
 * continuously.
 */
export function createCallIndex(): CallIndex {
  let places: (Call | null)[] = [];
  let others: Map<number | string, Call> | null = null;
  let added = 0;

  function isPlaced(call: Call): boolean {
    const { key } = call.id;
    return typeof key === "number" && places.length > 0 && places[key & (places.length - 1)] === call;
  }

  /** Puts a call in its place in the array. Returns false if the place is taken, or the id is not an integer. */
  function put(call: Call): boolean {
    const { key } = call.id;
    if (typeof key !== "number") return false;
    // If half of the places are taken, the next call is likely to find its place taken, too.
    if (2 * index.size >= places.length && places.length < MAX_PLACES) grow();
    const place = key & (places.length - 1);
    if (places[place] !== null) return false;
    places[place] = call;
    return true;
  }

  function grow(): void {
    const old = places;
    const length = Math.max(FIRST_PLACES, 2 * old.length);
    places = Array.from({ length }, () => null);
    // No collisions: calls with different places before have different places in an array of twice the size.
    for (const call of old) if (call !== null) places[Number(call.id.key) & (length - 1)] = call;
  }

  const index: { -readonly [Member in keyof CallIndex]: CallIndex[Member] } = {
    size: 0,
    get(key) {
      if (typeof key === "number" && places.length > 0) {
        const call = places[key & (places.length - 1)];
        if (call !== null && call.id.key === key) return call;
      }
      return others === null ? undefined : others.get(key);
    },
    add(call) {
      call.nth = added++;
      if (!put(call)) (others ??= new Map()).set(call.id.key, call);
      index.size++;
    },
    remove(call) {
      if (isPlaced(call)) places[Number(call.id.key) & (places.length - 1)] = null;
      else if (others?.get(call.id.key) === call) others.delete(call.id.key);
      else return false;
      index.size--;
      return true;
    },
    values() {
      const placed = places.filter((call) => call !== null);
      return [...placed, ...(others?.values() ?? [])].sort((one, other) => one.nth - other.nth);
    },
  };
  return index;
}
