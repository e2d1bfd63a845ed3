/** When things happened, in order: what one window counts. */
export interface Moments {
  /** How many there are. */
  readonly size: number;
  /** How many places they take: one each, where they are not put together. */
  readonly places: number;
  /** Adds one. It shares a place with those before it where the first of them is less than `grain` ago. */
  add(moment: number, grain: number): void;
  /** Forgets those at and before this one. Those that share a place are forgotten with the last of them. */
  forgetUntil(moment: number): void;
  /** The moment after which no more than `count` are left. */
  whenLeft(count: number): number;
}

/** Makes an empty list: a ring that grows. */
export function createMoments(): Moments {
  // For each place: its first moment, its last one, and how many there are.
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
