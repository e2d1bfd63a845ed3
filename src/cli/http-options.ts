import { setFlagsFromString } from "node:v8";
import type { ProxyOptions } from "../proxy/proxy.ts";
import { DEFAULT_TIMEOUTS } from "../proxy/limits.ts";
import { loginDirectory } from "../proxy/logins.ts";
import type { Config } from "./config.ts";
import { readHeaders } from "./header-settings.ts";
import { readListen } from "./http-settings.ts";
import type { Parsed } from "./options.ts";
import { readCommand, readTime, value } from "./settings.ts";
import { usage } from "./usage.ts";
import { version } from "./version.ts";

/** What a proxy is told beside the rest when it speaks HTTP on one side or both. */
export function readHttpOptions(parsed: Parsed, config: Config | null): Partial<ProxyOptions> {
  // A young generation that grows with the traffic takes tens of megabytes and wins nothing.
  setFlagsFromString("--semi-space-growth-factor=1");
  const upstream = value(parsed, "upstream");
  if (upstream !== undefined && parsed.rest !== null) {
    throw usage("A server is a command or a URL, not both", "Leave out --upstream, or what follows --");
  }
  const listen = readListen(parsed, config ?? {});
  const ca = value(parsed, "ca");
  const server =
    upstream === undefined
      ? { command: readCommand(parsed) }
      : {
          upstream,
          headers: readHeaders(parsed, process.env, config?.headers),
          ...(ca === undefined ? {} : { ca }),
          onLoss: (value(parsed, "on-loss") ?? "exit") as "exit" | "keep",
          loginDirectory: loginDirectory(process.env),
        };
  return {
    ...server,
    ...(listen === undefined ? {} : { listen }),
    version: version(),
    timeouts: {
      connection: readTime(parsed, "connect-timeout", DEFAULT_TIMEOUTS.connection),
      toolList: readTime(parsed, "tools-timeout", DEFAULT_TIMEOUTS.toolList),
    },
  };
}
