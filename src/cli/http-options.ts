import { setFlagsFromString } from "node:v8";
import type { Settings } from "../config/merge-settings.ts";
import type { ProxyOptions } from "../proxy/proxy-options.ts";
import { loginDirectory } from "../proxy/logins.ts";
import type { Parsed } from "./command-line.ts";
import { readListen } from "./http-settings.ts";
import { value } from "./settings.ts";
import { usage } from "./usage.ts";
import { version } from "./version.ts";

/** The additional options of a proxy that uses HTTP on at least one side. */
export function readHttpOptions(parsed: Parsed, settings: Settings): Partial<ProxyOptions> {
  // A young generation that grows with the traffic takes tens of megabytes and gains nothing.
  setFlagsFromString("--semi-space-growth-factor=1");
  if (parsed.values.has("upstream") && parsed.rest !== null) {
    throw usage("A server is a command or a URL, not both", "Leave out --upstream, or what follows --");
  }
  const listen = readListen(parsed, settings);
  const ca = value(parsed, "ca");
  const isRemote = settings.upstream?.kind === "url";
  return {
    ...(isRemote && ca !== undefined ? { ca } : {}),
    ...(isRemote ? { loginDirectory: loginDirectory(process.env) } : {}),
    ...(listen === null ? {} : { listen }),
    version: version(),
  };
}
