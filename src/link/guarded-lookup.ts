import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";

/**
 * Looks names up, and refuses where `check` returns an error for one of the addresses: which of them would be taken is not
 * for us to say. The connection is made to the addresses that were checked, so a second answer cannot lead elsewhere.
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
