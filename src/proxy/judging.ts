import type { PolicySettings } from "../policy/file/settings.ts";
import type { Log } from "../record/log.ts";
import type { Engine } from "./engine.ts";
import { createHub, type Hub } from "./hub.ts";
import type { Limits, Timeouts } from "./limits.ts";
import { readNames } from "./names.ts";
import { readPatterns } from "./options.ts";
import type { ProxyOptions } from "./proxy.ts";

/** What judges: the hub of all conversations, and the engine for rules behind it. */
export interface Judging {
  readonly hub: Hub;
  readonly engine: Engine;
}

interface Parts {
  readonly log: Log;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
}

/** Whether there is more to judge by than names. The engine is loaded only then. */
export function needsEngine({ policy, interceptors = [], observe = false }: ProxyOptions): boolean {
  return policy !== undefined || interceptors.length > 0 || observe;
}

/** Makes the hub. Patterns that are options take the place of those in a policy. */
export function openHub(options: ProxyOptions, { log, limits, timeouts }: Parts): Hub {
  const { audit = null, auditAll = false, policy = null, policyFolder = null } = options;
  const deny = options.deny === undefined && policy !== null ? policy.tools.deny : readPatterns(options, "deny");
  const allow = options.allow === undefined && policy !== null ? policy.tools.allow : readPatterns(options, "allow");
  const names = options.names === undefined ? {} : { names: readNames(options.names) };
  return createHub({ deny, allow, ...names, log, audit, auditAll, limits, timeouts, policy, policyFolder });
}

/** Makes the hub and starts the engine. Rejects with a ProxyError where the policy cannot be followed. */
export async function startJudging(options: ProxyOptions, parts: Parts): Promise<Judging> {
  const { createEngine, NO_POLICY } = await import("./engine.ts");
  const hub = openHub(options, parts);
  const { command = [], upstream, policy = NO_POLICY, policyFolder = process.cwd(), observe = false } = options;
  const engine = await createEngine({
    hub,
    log: parts.log,
    policy,
    folder: policyFolder,
    observe,
    server: upstream ?? JSON.stringify(command),
    version: options.version ?? "unknown",
    interceptors: options.interceptors ?? [],
  });
  return { hub, engine };
}

/** Takes up another policy, and tells clients where they may see other tools by it. */
export async function adopt(judged: Judging | null, policy: PolicySettings, announce: () => void): Promise<void> {
  if (judged === null) throw new Error("there is no policy to take the place of: start with one");
  const { changesTools } = await judged.engine.adopt(policy);
  if (changesTools) announce();
}
