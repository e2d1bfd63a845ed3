import type { Pattern } from "../policy/patterns.ts";
import type { AuditInclude, AuthSettings, PolicySettings } from "../policy/file/settings.ts";
import { loadPolicyFile } from "../proxy/policy-file.ts";
import type { Limits, Timeouts } from "../proxy/limits.ts";
import type { ProxyOptions } from "../proxy/proxy.ts";
import type { Command } from "./commands.ts";
import { checkTogether } from "./mistakes.ts";
import type { Parsed } from "./options.ts";
import { readPatterns } from "./settings.ts";

/** A command line, and what the policy file that it names adds to it. */
export interface Config {
  /** The command line with all that the file says and it does not. What it says itself wins. */
  readonly parsed: Parsed;
  readonly deny: readonly Pattern[];
  readonly allow: readonly Pattern[];
  /** For the server at the URL in the file, beside those of --header. */
  readonly headers: ReadonlyMap<string, string>;
  /** What tokens must be good for. */
  readonly scopes: readonly string[];
  /** The header that names the client; null where none does. */
  readonly identityHeader: string | null;
  readonly limits: Partial<Limits>;
  readonly timeouts: Partial<Timeouts>;
  /** What the audit log has. */
  readonly auditInclude: AuditInclude | null;
  /** Whether what cannot be audited must not pass. */
  readonly mustAudit: boolean;
  readonly policy: Pick<ProxyOptions, "policy" | "policyFolder">;
  /** What a person should know about it. */
  readonly warnings: readonly string[];
}

/** Reads the file that --config names. Rejects with all its mistakes. */
export async function readConfig(given: Parsed, command: Command, env: NodeJS.ProcessEnv): Promise<Config> {
  const loaded = await loadPolicyFile(given.values.get("config")?.[0] ?? "", env);
  const { settings } = loaded;
  const { upstream } = settings;
  // A server on the command line takes the place of the one in the file with all that belongs to it: a token for one
  // server is none of another's business.
  const hasOwnServer = given.rest !== null || given.values.has("upstream");
  const server = hasOwnServer ? null : upstream;
  const isServing = given.values.has("listen") || settings.listen !== null;
  const hasOwnAuth = given.values.has("auth-tokens") || given.values.has("auth-jwks");
  const auth = hasOwnAuth || !isServing ? null : settings.auth;
  const said = new Map([...sayServer(server), ...saySettings(settings), ...sayAuth(auth)]);
  const values = new Map([...said, ...given.values]);
  // Variables add up, and the last one of a name holds.
  const variables = [...(said.get("env") ?? []), ...(given.values.get("env") ?? [])];
  if (variables.length > 0) values.set("env", variables);
  const parsed: Parsed = { ...given, values, rest: server?.kind === "command" ? server.command : given.rest };
  checkTogether(given, command, values);
  const deny = given.values.has("deny") ? readPatterns(given, "deny") : settings.tools.deny;
  const allow = given.values.has("allow") ? readPatterns(given, "allow") : settings.tools.allow;
  const { limits } = settings;
  return {
    parsed,
    deny,
    allow,
    headers: server?.kind === "url" ? server.headers : new Map(),
    scopes: auth?.kind === "jwt" ? auth.scopes : [],
    identityHeader: isServing ? (settings.auth?.identityHeader ?? null) : null,
    limits: known<Limits>({
      maxMessageBytes: limits.maxMessage,
      maxBufferBytes: limits.maxBuffer,
      maxDepth: limits.maxDepth,
      maxOpenCalls: limits.maxOpenCalls,
      maxSessions: limits.maxSessions,
      maxParkedBytes: limits.maxParked,
      maxChildren: limits.maxChildren,
      maxConnections: limits.maxConnections,
      maxUpstreamConnections: limits.maxUpstreamConnections,
    }),
    timeouts: known<Timeouts>({
      childGrace: settings.timeouts.childGrace,
      sessionIdle: settings.timeouts.sessionIdle,
      slowReader: settings.timeouts.slowReader,
    }),
    auditInclude: settings.audit?.include ?? null,
    mustAudit: settings.audit?.onError === "block",
    policy: {
      policy: { ...settings, tools: { ...settings.tools, deny, allow } },
      policyFolder: loaded.folder,
    },
    warnings: [
      ...loaded.warnings.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`),
      ...warnOfLoss(given, settings, { file: loaded.file, isServing: isServing || command.name !== "" }),
    ],
  };
}

type Said = [option: string, values: readonly string[]][];

function sayServer(server: PolicySettings["upstream"]): Said {
  if (server === null) return [];
  if (server.kind === "url") return [...say("upstream", server.url), ...say("on-loss", server.onLoss)];
  return [["env", Array.from(server.env, ([name, value]) => `${name}=${value}`)], ...say("cwd", server.cwd)];
}

function saySettings({ listen, timeouts, audit, log }: PolicySettings): Said {
  const host = listen?.host.includes(":") === true ? `[${listen.host}]` : listen?.host;
  return [
    ...say("listen", listen === null ? null : `${host}:${listen.port}`),
    ...say("connect-timeout", timeouts.connection === null ? null : `${timeouts.connection}ms`),
    ...say("tools-timeout", timeouts.toolList === null ? null : `${timeouts.toolList}ms`),
    ...say("audit", audit?.file ?? null),
    ...say("audit-level", audit?.level ?? null),
    ...say("log-level", log.level),
    ...say("log-format", log.format),
    ...say("log-file", log.file),
  ];
}

function sayAuth(auth: AuthSettings | null): Said {
  if (auth === null || auth.kind === "open") return [];
  if (auth.kind === "tokens") return say("auth-tokens", auth.file);
  return [...say("auth-jwks", auth.jwks), ...say("auth-issuer", auth.issuer), ...say("auth-audience", auth.audience)];
}

function say(option: string, value: string | null): Said {
  return value === null ? [] : [[option, [value]]];
}

/** Without what is null. */
function known<T extends object>(values: { readonly [K in keyof T]?: T[K] | null }): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as Partial<T>;
}

/** What stands in the file and does not hold. A filter that is thought to be there is worse than none. */
function warnOfLoss(
  given: Parsed,
  { tools, auth }: PolicySettings,
  { file, isServing }: { readonly file: string; readonly isServing: boolean },
): string[] {
  const lists = (["deny", "allow"] as const).filter((list) => given.values.has(list) && tools[list].length > 0);
  const warnings = lists.map((list) => `--${list} takes the place of tools.${list} in ${file}`);
  if (auth !== null && !isServing) warnings.push(`auth in ${file} has no effect: clients do not come by HTTP`);
  return warnings;
}
