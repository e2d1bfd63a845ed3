import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";

/**
 * Looks up a name, and fails if `check` returns an error for one of its addresses, because any of them could be used.
 * The connection uses the addresses that were checked, so a second lookup cannot lead elsewhere.
 */
export function guardedLookup(check: (address: string) => Error | null): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const refusal = error ?? addresses.map(({ address }) => check(address)).find((found) => found !== null) ?? null;
      if (refusal !== null) callback(refusal, [], 0);
      else if (options.all === true) callback(null, addresses);
      else callback(null, addresses[0].address, addresses[0].family);
    });
  };
}
