import { parseAddress } from "../link/upstream/address.ts";

/** The name of a server at a URL: the URL as it was given, without user name, password and query. */
export function nameUpstream(upstream: string): string {
  const { origin, path } = parseAddress(upstream);
  return origin + path.replace(/\?.*$/s, "");
}
