import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { nearness, nearnessOf } from "./reach.ts";
import { isLoopback } from "./loopback.ts";
import type { Address } from "./upstream/address.ts";
import { proxyFor } from "./upstream/tunnel.ts";

/** Keeps what is sent out from servers that are not out there: on this machine, on its cable, in a private network. */
export interface NearGuard {
  /** Why a server is not to be reached at all, whatever names mean: null where nothing speaks against it. */
  readonly refusal: string | null;
  /** Finds addresses and lets through what is far enough. Connections go to the addresses that were checked. */
  readonly lookup: LookupFunction;
  /** The same for a server that a proxy finds for us, as far as its name means anything here. Rejects where it is too near. */
  check(): Promise<void>;
}

/** Makes a guard for one server. */
export function guardNear(address: Address, env: NodeJS.ProcessEnv): NearGuard {
  const { host } = address;
  const isAddress = isIP(host) !== 0;
  // RFC 6761, 6.3: names that end so are this machine, whoever is asked about them.
  const isNear = isLoopback(host) || /(?:^|\.)localhost\.?$/i.test(host) || (isAddress && nearness(host) > 0);
  return {
    refusal: isNear ? TOO_NEAR : null,
    lookup(hostname, options, callback) {
      lookup(hostname, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return callback(error, [], 0);
        // One near address is enough: which of them is taken is not for us to say.
        if (addresses.some((one) => nearness(one.address) > 0)) return callback(new Error(TOO_NEAR), [], 0);
        if (options.all === true) callback(null, addresses);
        else callback(null, addresses[0].address, addresses[0].family);
      });
    },
    async check() {
      if (proxyFor(address, env) !== null && (await nearnessOf(host)) > 0) throw new Error(TOO_NEAR);
    },
  };
}

/** What is said about a server that is too near. */
export const TOO_NEAR = "it is on this machine or in a private network";
