import type { Settings } from "../config/merge-settings.ts";
import type { LimitSettings, TimeoutSettings } from "../config/settings.ts";
import type { Limits, Timeouts } from "./limits.ts";
import type { ProxyOptions } from "./proxy-options.ts";

/** What settings say, as options of a proxy, but for where clients come in (`listen-options.ts`). */
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

// How the settings of a file are called here. The compiler asks for the line of a new one.
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

/** Numbers under other names, without those that nobody has set. */
function renamed<From extends object, To extends object>(
  values: Partial<From>,
  names: Readonly<Record<keyof From, keyof To>>,
): Partial<To> {
  const known = (Object.keys(names) as (keyof From)[]).filter((key) => (values[key] ?? null) !== null);
  return Object.fromEntries(known.map((key) => [names[key], values[key]])) as Partial<To>;
}
