import { BlockList, isIP } from "node:net";

/**
 * Whether a name or an address, with or without brackets, refers to this machine only. Names are not looked up:
 * `localhost` is the only name that means this machine everywhere.
 */
export function isLoopback(host: string): boolean {
  const bare = /^\[(.*)\]$/.exec(host)?.[1] ?? host;
  const family = isIP(bare);
  // IPv4-mapped IPv6 addresses (::ffff:127.0.0.1) count as their IPv4 address.
  return family === 0 ? host === "localhost" : LOOPBACK.check(bare, family === 6 ? "ipv6" : "ipv4");
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");
