import type { NameSettings, PolicySettings } from "../config/settings.ts";
import type { Pattern } from "../policy/patterns.ts";
import type { Log } from "../record/log/log.ts";
import type { Observer } from "../record/observers.ts";
import type { ServerId } from "../session/session-view.ts";
import type { Tap } from "../wire/tap.ts";
import type { Engine } from "./engine.ts";
import { tellPlainly } from "./happenings.ts";
import { createHub, type Hub, loadResultJudge, namesIn } from "./hub.ts";
import type { Limits, Timeouts } from "./limits.ts";
import { type NamePolicy, openNamedPins, readNames } from "./names.ts";
import { readPatterns } from "./options.ts";
import type { ProxyOptions } from "./proxy-options.ts";
import { nameUpstream } from "./upstream-name.ts";

/** What judges messages: the hub of all sessions, and the rule engine. */
export interface Judging {
  readonly hub: Hub;
  readonly engine: Engine;
}

interface Parts {
  readonly log: Log;
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly attached?: Attached;
  /** The id of the server, if it is known already. */
  readonly server?: ServerId;
}

/** Internal parts of Fairlead that see everything; programs that use the library cannot attach these. */
export interface Attached {
  readonly observers?: readonly Observer[];
  readonly tap?: Tap;
}

/** Whether more than names is judged. Only then the engine is loaded. */
export function needsEngine({ policy, interceptors = [], observe = false }: ProxyOptions): boolean {
  return policy !== undefined || interceptors.length > 0 || observe;
}

/** Makes the hub. Options override the policy. */
export async function openHub(options: ProxyOptions, parts: Parts): Promise<Hub> {
  const { log, limits, timeouts, attached = {} } = parts;
  const { audit = null, auditAll = false, policy = null, observe = false } = options;
  const deny = readToolPatterns(options, "deny");
  const allow = readToolPatterns(options, "allow");
  const names = overlay(namesIn(policy), readNames(options.names));
  const pins = await openNamedPins(names, options, log);
  const judges = { deny, allow, names, pins, policy, observe };
  const observers = [...(attached.observers ?? []), ...(options.observers ?? []).map(tellPlainly)];
  const server = parts.server ?? (await findName(options, audit !== null || observers.length > 0));
  const hub = createHub({
    ...judges,
    server,
    observers,
    tap: attached.tap ?? null,
    log,
    audit,
    auditAll,
    limits,
    timeouts,
  });
  const results = await loadResultJudge(options.validate ?? policy?.validate ?? "lists", hub.reporter);
  if (results !== null) {
    const { current } = hub.rulebook;
    hub.rulebook.current = { ...current, policy: { ...current.policy, results } };
  }
  return hub;
}

/** The id of the server; null for a command if nothing can show it. Loading the code that masks secrets in commands takes a few milliseconds. */
async function findName({ upstream, command = [] }: ProxyOptions, isSeen: boolean): Promise<ServerId | null> {
  if (upstream !== undefined) return nameUpstream(upstream);
  return isSeen ? (await import("./server-name.ts")).nameServer({ command }) : null;
}

/** The patterns for tools: those in the options, or else those of the policy. */
export function readToolPatterns(options: ProxyOptions, list: "deny" | "allow"): readonly Pattern[] {
  const { policy } = options;
  return options[list] === undefined && policy !== undefined ? policy.tools[list] : readPatterns(options, list);
}

/** The filters by name of a policy, overridden by those of a program. */
function overlay(said: NamePolicy, own: NamePolicy): NamePolicy {
  const manners = Object.entries(own.tools).filter(([, value]) => value !== null);
  return {
    tools: { ...said.tools, ...Object.fromEntries(manners) },
    prompts: pick(said.prompts, own.prompts),
    resources: { ...pick(said.resources, own.resources), links: own.resources.links ?? said.resources.links },
  };
}

function pick(lists: NameSettings, instead: NameSettings): NameSettings {
  return {
    deny: instead.deny.length > 0 ? instead.deny : lists.deny,
    allow: instead.allow.length > 0 ? instead.allow : lists.allow,
  };
}

/** Makes the hub and starts the engine. Rejects with a ProxyError if the policy cannot be used. */
export async function startJudging(options: ProxyOptions, parts: Parts): Promise<Judging> {
  const { createEngine, nameServer, NO_POLICY } = await import("./engine.ts");
  const hub = await openHub(options, { ...parts, server: nameServer(options) });
  const { command = [], upstream, policy = NO_POLICY, policyFolder = process.cwd(), observe = false } = options;
  const engine = await createEngine({
    hub,
    log: parts.log,
    policy,
    folder: policyFolder,
    observe,
    validate: options.validate,
    server: upstream ?? JSON.stringify(command),
    version: options.version ?? "unknown",
    interceptors: options.interceptors ?? [],
  });
  return { hub, engine };
}

/** Replaces the policy, and notifies clients if they may see other tools now. */
export async function adopt(judged: Judging | null, policy: PolicySettings, announce: () => void): Promise<void> {
  if (judged === null) throw new Error("there is no policy to take the place of: start with one");
  const { changesTools } = await judged.engine.adopt(policy);
  if (changesTools) announce();
}
