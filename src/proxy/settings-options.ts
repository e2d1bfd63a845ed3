import type { Settings } from "../config/merge-settings.ts";
import type { LimitSettings, TimeoutSettings } from "../config/settings.ts";
import type { Limits, Timeouts } from "./limits.ts";
import type { ProxyOptions } from "./proxy-options.ts";

/** The options of a proxy from settings, except for HTTP clients (`listen-options.ts`). */
export function optionsOf({ upstream, deny, allow, limits, timeouts }: Settings): ProxyOptions {
  return {
    ...(upstream === null ? {} : serverOf(upstream)),
    deny,
    allow,
    limits: renamed<LimitSettings, Limits>(limits, LIMITS),
    timeouts: renamed<TimeoutSettings, Timeouts>(timeouts, TIMEOUTS),
  };
}

function serverOf(upstream: NonNullable<Settings["upstream"]>): ProxyOptions {
  if (upstream.kind === "url") {
    const { url, headers, onLoss } = upstream;
    return { upstream: url, headers: Object.fromEntries(headers), onLoss: onLoss ?? "exit" };
  }
  const { command, env, cwd } = upstream;
  return { command, env: Object.fromEntries(env), ...(cwd === null ? {} : { cwd }) };
}

// The option for each setting of a file. The compiler requires a line for a new one.
const LIMITS: Readonly<Record<keyof LimitSettings, keyof Limits>> = {
  maxMessage: "maxMessageBytes",
  maxDepth: "maxDepth",
  maxBuffer: "maxBufferBytes",
  maxOpenCalls: "maxOpenCalls",
  maxSessions: "maxSessions",
  maxParked: "maxParkedBytes",
  maxChildren: "maxChildren",
  maxConnections: "maxConnections",
  maxUpstreamConnections: "maxUpstreamConnections",
};
const TIMEOUTS: Readonly<Record<keyof TimeoutSettings, keyof Timeouts>> = {
  connection: "connection",
  toolList: "toolList",
  childGrace: "childGrace",
  sessionIdle: "sessionIdle",
  slowReader: "slowReader",
};

/** Renames the members of an object, without those that are not set. */
function renamed<From extends object, To extends object>(
  values: Partial<From>,
  names: Readonly<Record<keyof From, keyof To>>,
): Partial<To> {
  const known = (Object.keys(names) as (keyof From)[]).filter((key) => (values[key] ?? null) !== null);
  return Object.fromEntries(known.map((key) => [names[key], values[key]])) as Partial<To>;
}
