import { BlockList, isIP } from "node:net";

/**
 * Whether only this machine can be reached by a name or an address, which may stand in brackets as it does in a URL.
 * Names are not looked up: `localhost` is the only one that means this machine everywhere.
 */
export function isLoopback(host: string): boolean {
  const bare = /^\[(.*)\]$/.exec(host)?.[1] ?? host;
  const family = isIP(bare);
  // The mapped addresses of IPv6 (::ffff:127.0.0.1) count as those of IPv4 that are in them.
  return family === 0 ? host === "localhost" : LOOPBACK.check(bare, family === 6 ? "ipv6" : "ipv4");
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");
