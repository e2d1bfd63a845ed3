/** The timestamps of the events in one window, in order. */
export interface Moments {
  /** How many events there are. */
  readonly size: number;
  /** How many slots they take. Events that are not merged take one slot each. */
  readonly places: number;
  /** Adds an event. It is merged into the last slot if that slot's first event is less than `grain` ago. */
  add(moment: number, grain: number): void;
  /** Removes events up to and including this time. Merged events are removed together, with the last of them. */
  forgetUntil(moment: number): void;
  /** The time of the event that has to be removed so that no more than `count` are left. */
  whenLeft(count: number): number;
}

/** Creates an empty list, as a ring buffer that grows. */
export function createMoments(): Moments {
  // Three numbers for each slot: the first timestamp, the last one, and the number of events.
  let ring = new Float64Array(3 * 4);
  let capacity = 4;
  let first = 0;
  let places = 0;
  let size = 0;
  const at = (nth: number): number => 3 * ((first + nth) & (capacity - 1));

  function grow(): void {
    const larger = new Float64Array(2 * ring.length);
    for (let nth = 0; nth < places; nth++) larger.set(ring.subarray(at(nth), at(nth) + 3), 3 * nth);
    ring = larger;
    capacity *= 2;
    first = 0;
  }

  return {
    get size() {
      return size;
    },
    get places() {
      return places;
    },
    add(moment, grain) {
      size++;
      if (places > 0) {
        const last = at(places - 1);
        if (moment - ring[last] < grain) {
          ring[last + 1] = moment;
          ring[last + 2]++;
          return;
        }
      }
      if (places === capacity) grow();
      const place = at(places++);
      ring[place] = moment;
      ring[place + 1] = moment;
      ring[place + 2] = 1;
    },
    forgetUntil(moment) {
      while (places > 0 && ring[at(0) + 1] <= moment) {
        size -= ring[at(0) + 2];
        first = (first + 1) & (capacity - 1);
        places--;
      }
    },
    whenLeft(count) {
      let left = size;
      for (let nth = 0; nth < places; nth++) {
        left -= ring[at(nth) + 2];
        if (left <= count) return ring[at(nth) + 1];
      }
      return Number.NEGATIVE_INFINITY;
    },
  };
}
