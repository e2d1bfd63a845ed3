/** Places that many clients share: connections, or requests that are open. */
export interface Shares {
  /** Takes a place for a client. False where there is none for it. */
  take(client: string): boolean;
  give(client: string): void;
  /** How many are taken. */
  readonly taken: number;
}

/**
 * Makes so many places. As long as a quarter of them is free, whoever comes takes one. The last quarter is for clients
 * that have less than a quarter of all: one client alone cannot keep the others out, and where there is only one, as
 * behind a reverse proxy that does not say for whom it asks, it has three quarters.
 */
export function createShares(places: number): Shares {
  const reserved = Math.floor(places / 4);
  const held = new Map<string, number>();
  const shares: Shares & { taken: number } = {
    taken: 0,
    take(client) {
      const own = held.get(client) ?? 0;
      if (shares.taken >= places || (shares.taken >= places - reserved && own >= reserved)) return false;
      shares.taken++;
      held.set(client, own + 1);
      return true;
    },
    give(client) {
      const own = held.get(client) ?? 0;
      shares.taken--;
      if (own <= 1) held.delete(client);
      else held.set(client, own - 1);
    },
  };
  return shares;
}
