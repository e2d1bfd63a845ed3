import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { isLoopback } from "./loopback.ts";
import { loginFailed, plain } from "./trouble.ts";

/** How near an address is: 0 anywhere, 1 in a private network, 2 on this machine or its local link. */
export type Nearness = 0 | 1 | 2;

/** Reads a URL that codes or tokens may be sent to: https, or http on this machine. */
export function readEndpoint(value: unknown, what: string): URL {
  const text = typeof value === "string" ? value : "";
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw loginFailed(`${what} is not a URL`, REMEDY);
  // This also keeps javascript:, file: and similar URLs from being opened in a browser.
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
    throw loginFailed(`${what} is not an https URL: ${plain(`${url.protocol}//${url.host}`)}`, REMEDY);
  }
  if (url.username !== "" || url.password !== "") throw loginFailed(`${what} has a password in it`, REMEDY);
  return url;
}

const REMEDY = "The server's login cannot be used safely; contact its operator";

/** How near a host is: as near as the nearest of its addresses. */
export async function nearnessOf(hostname: string): Promise<Nearness> {
  if (isLoopback(hostname)) return 2;
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return nearness(host);
  try {
    const addresses = await lookup(host, { all: true });
    return Math.max(0, ...addresses.map(({ address }) => nearness(address))) as Nearness;
  } catch {
    // Behind a proxy, names may not resolve here. Then no near host is allowed.
    return 0;
  }
}

/** How near an IP address is. */
export function nearness(address: string): Nearness {
  const bare = address.replace(/%.*$/, "");
  const inside = isIP(bare) === 6 ? embedded(bare) : bare;
  const family = isIP(inside) === 6 ? "ipv6" : "ipv4";
  if (isIP(inside) === 0 || isLoopback(inside) || LOCAL.check(inside, family)) return 2;
  return PRIVATE.check(inside, family) ? 1 : 0;
}

/** The IPv4 address inside an IPv6 address of NAT64 or 6to4, else the address itself. */
function embedded(address: string): string {
  const groups = expand(address);
  const [first, second] = groups;
  const isNat64 = first === 0x64 && second === 0xff9b && groups.slice(2, 6).every((group) => group === 0);
  if (!isNat64 && first !== 0x2002) return address;
  const [high, low] = isNat64 ? groups.slice(6) : groups.slice(1);
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function expand(address: string): number[] {
  // The last four bytes may be spelled as IPv4.
  const text = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [a * 256 + Number(b), c * 256 + Number(d)].map((group) => group.toString(16)).join(":"),
  );
  const [head, tail] = text.split("::").map((part) => part.split(":").filter((group) => group !== ""));
  const rest = tail ?? [];
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - rest.length) }, () => "0");
  return [...head, ...zeros, ...rest].map((group) => Number.parseInt(group, 16));
}

function list(...subnets: string[]): BlockList {
  const result = new BlockList();
  for (const subnet of subnets) {
    const [network, prefix] = subnet.split("/");
    result.addSubnet(network, Number(prefix), isIP(network) === 6 ? "ipv6" : "ipv4");
  }
  return result;
}

// A BlockList also matches IPv4 addresses that are mapped into IPv6.
const LOCAL = list(
  "0.0.0.0/8",
  "169.254.0.0/16", // cloud metadata services, which hand out credentials
  "224.0.0.0/3",
  "::/96", // unspecified, and the obsolete IPv4-compatible addresses
  "fe80::/10",
  "ff00::/8",
  "2001::/32",
  "64:ff9b:1::/48",
);
const PRIVATE = list(
  "10.0.0.0/8",
  "100.64.0.0/10",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "fc00::/7",
  "fec0::/10",
);
