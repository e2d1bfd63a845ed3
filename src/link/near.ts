import { isIP, type LookupFunction } from "node:net";
import { guardedLookup } from "./guarded-lookup.ts";
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
    lookup: guardedLookup((one) => (nearness(one) > 0 ? new Error(TOO_NEAR) : null)),
    async check() {
      if (proxyFor(address, env) !== null && (await nearnessOf(host)) > 0) throw new Error(TOO_NEAR);
    },
  };
}

/** What is said about a server that is too near. */
export const TOO_NEAR = "it is on this machine or in a private network";
