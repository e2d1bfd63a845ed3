/** Slots that many clients share: connections, or open requests. */
export interface Shares {
  /** Takes a slot for a client. False if there is none for it. */
  take(client: string): boolean;
  give(client: string): void;
  /** How many slots are in use. */
  readonly taken: number;
}

/**
 * Makes this many slots. As long as more than a quarter of them is free, any client may take one. The last quarter is
 * for clients that have less than a quarter of all slots: one client alone cannot block the others. A single client,
 * such as a reverse proxy that does not identify its clients, can use three quarters.
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
