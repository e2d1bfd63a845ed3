import type { ServerResponse } from "node:http";

/** The responses that clients are waiting for. */
export interface Owed {
  add(response: ServerResponse): void;
  /** Removes a response, because it has ended or because it is a long-lived stream. */
  settle(response: ServerResponse): void;
  readonly isEmpty: boolean;
  all(): readonly ServerResponse[];
}

const PLACE = Symbol("place");
type Placed = ServerResponse & { [PLACE]?: number };

/**
 * Makes an empty collection. It uses an array whose slots are cleared: a Set would keep every request until a full
 * collection.
 */
export function createOwed(): Owed {
  const places: (ServerResponse | null)[] = [];
  const free: number[] = [];
  return {
    add(response: Placed) {
      const place = free.pop() ?? places.length;
      places[place] = response;
      response[PLACE] = place;
    },
    settle(response: Placed) {
      const { [PLACE]: place = -1 } = response;
      if (place < 0) return;
      places[place] = null;
      free.push(place);
      response[PLACE] = -1;
    },
    get isEmpty() {
      return free.length === places.length;
    },
    all: () => places.flatMap((response) => response ?? []),
  };
}
