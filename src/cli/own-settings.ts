import type { OwnAuth, OwnSettings } from "../config/merge-settings.ts";
import type { AuditSettings, ListenPlace, LogSettings } from "../config/settings.ts";
import type { Level } from "../record/log/log.ts";
import type { Parsed } from "./command-line.ts";
import { readCommand, readEnvironment, readPatterns, readTime, value } from "./settings.ts";
import { showWord, usage } from "./usage.ts";

/** The settings of a command line that a policy file could contain as well. */
export async function readOwnSettings(parsed: Parsed, env: NodeJS.ProcessEnv): Promise<OwnSettings> {
  const { values, rest } = parsed;
  const deny = values.has("deny") ? { deny: readPatterns(parsed, "deny") } : {};
  const allow = values.has("allow") ? { allow: readPatterns(parsed, "allow") } : {};
  const headers = values.has("header")
    ? { headers: (await import("./header-settings.ts")).readHeaders(parsed, env) }
    : {};
  const listen = value(parsed, "listen");
  return {
    ...deny,
    ...allow,
    ...(rest === null ? {} : { command: readCommand(parsed) }),
    ...option("url", value(parsed, "upstream")),
    ...headers,
    ...option("onLoss", value(parsed, "on-loss") as "exit" | "keep" | undefined),
    env: readEnvironment(parsed),
    ...option("cwd", value(parsed, "cwd")),
    ...(listen === undefined ? {} : { listen: readPlace(listen) }),
    ...option("auth", readAuth(parsed)),
    ...option("issuer", value(parsed, "auth-issuer")),
    ...option("audience", value(parsed, "auth-audience")),
    timeouts: {
      ...option("connection", readTime(parsed, "connect-timeout")),
      ...option("toolList", readTime(parsed, "tools-timeout")),
    },
    audit: {
      ...option("file", value(parsed, "audit")),
      ...option("level", value(parsed, "audit-level") as AuditSettings["level"] | undefined),
    },
    log: readOwnLog(parsed),
  };
}

/** The log settings of a command line. */
export function readOwnLog(parsed: Parsed): Partial<LogSettings> {
  return {
    ...option("level", value(parsed, "log-level") as Level | undefined),
    ...option("format", value(parsed, "log-format") as "text" | "json" | undefined),
    ...option("file", value(parsed, "log-file")),
  };
}

/** An object with one member, or an empty object if the value is undefined. */
function option<Name extends string, Value>(name: Name, value: Value | undefined): { readonly [K in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [K in Name]: Value });
}

/** Parses a port, or a host and a port. */
function readPlace(text: string): ListenPlace {
  const match = /^(?:(\[[0-9a-fA-F:.]+\]|[^:[\]/]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2] ?? -1);
  if (match === null || port < 0 || port > 65_535) {
    throw usage(`Not a port: --listen ${showWord(text)}`, "Write a port such as --listen 8808, or host:port");
  }
  return { host: (match[1] ?? "127.0.0.1").replace(/^\[|\]$/g, ""), port };
}

function readAuth(parsed: Parsed): OwnAuth | undefined {
  const file = value(parsed, "auth-tokens");
  const jwks = value(parsed, "auth-jwks");
  if (file !== undefined && jwks !== undefined) {
    throw usage("Tokens come from a file or from an issuer, not from both", "Give --auth-tokens or --auth-jwks");
  }
  if (file !== undefined) return { kind: "tokens", file };
  if (jwks === undefined) return undefined;
  const issuer = value(parsed, "auth-issuer");
  const audience = value(parsed, "auth-audience");
  if (issuer === undefined || audience === undefined) {
    throw usage(
      "The issuer and the audience of the tokens are missing",
      "Give --auth-issuer and --auth-audience with --auth-jwks",
    );
  }
  return { kind: "jwt", jwks, issuer, audience, scopes: [] };
}
