import type { Call } from "./call.ts";

/** Calls by their key, in the order in which they were added. */
export interface CallIndex {
  readonly size: number;
  get(key: number | string): Call | undefined;
  /** Adds a call whose key is not there yet. */
  add(call: Call): void;
  /** False where it is not there: another one with its key is not touched. */
  remove(call: Call): boolean;
  values(): Call[];
}

/** An array of so many places is made for the first call. */
const FIRST_PLACES = 16;
/** It grows to so many places. Calls that find none are kept in a map. */
const MAX_PLACES = 1024;

/**
 * Makes an index. Most ids are integers that count up: their last bits are the call's place in an array. A map would do
 * all of this, but it is made anew every time its free places are used up, which adding and removing does by itself.
 */
export function createCallIndex(): CallIndex {
  let places: (Call | null)[] = [];
  let others: Map<number | string, Call> | null = null;
  let added = 0;

  function isPlaced(call: Call): boolean {
    const { key } = call.id;
    return typeof key === "number" && places.length > 0 && places[key & (places.length - 1)] === call;
  }

  /** Puts a call in its place in the array. False where there is none. */
  function put(call: Call): boolean {
    const { key } = call.id;
    if (typeof key !== "number") return false;
    // With half of the places taken, the next call is likely to find its own taken too.
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
    // Two that had different places have different places among twice as many.
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
