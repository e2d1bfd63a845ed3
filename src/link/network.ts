/**
 * The network of an address: the address itself for IPv4, its first 64 bits for IPv6, because one client usually has
 * all of those.
 */
export function networkOf(address: string | undefined): string {
  if (address === undefined) return "unknown";
  if (address.startsWith("::ffff:") && address.includes(".")) return address.slice("::ffff:".length);
  if (!address.includes(":")) return address;
  const [bare] = address.split("%");
  const [before, after = null] = bare.split("::");
  const groups = before === "" ? [] : before.split(":");
  const behind = after === null || after === "" ? [] : after.split(":");
  const all =
    after === null ? groups : [...groups, ...Array<string>(8 - groups.length - behind.length).fill("0"), ...behind];
  return `${all.slice(0, 4).join(":")}::/64`;
}
