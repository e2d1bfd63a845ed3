import { isIP, type LookupFunction } from "node:net";
import { guardedLookup } from "./guarded-lookup.ts";
import { nearness, nearnessOf } from "./reach.ts";
import { isLoopback } from "./loopback.ts";
import type { Address } from "./upstream/address.ts";
import { proxyFor } from "./upstream/tunnel.ts";

/** Keeps requests away from servers on this machine, on the local link or in a private network. */
export interface NearGuard {
  /** Why a server must not be contacted, judged by its URL alone; null if it may be. */
  readonly refusal: string | null;
  /** Looks up a name and fails if an address is too near. Connections use the addresses that were checked. */
  readonly lookup: LookupFunction;
  /**
   * The same check for a server that is reached through a proxy, as far as its name can be resolved here. Rejects if it
   * is too near.
   */
  check(): Promise<void>;
}

/** Makes a guard for one server. */
export function guardNear(address: Address, env: NodeJS.ProcessEnv): NearGuard {
  const { host } = address;
  const isAddress = isIP(host) !== 0;
  // RFC 6761, 6.3: names with this ending always mean this machine.
  const isNear = isLoopback(host) || /(?:^|\.)localhost\.?$/i.test(host) || (isAddress && nearness(host) > 0);
  return {
    refusal: isNear ? TOO_NEAR : null,
    lookup: guardedLookup((one) => (nearness(one) > 0 ? new Error(TOO_NEAR) : null)),
    async check() {
      if (proxyFor(address, env) !== null && (await nearnessOf(host)) > 0) throw new Error(TOO_NEAR);
    },
  };
}

/** The reason for refusing a server that is too near. */
export const TOO_NEAR = "it is on this machine or in a private network";
