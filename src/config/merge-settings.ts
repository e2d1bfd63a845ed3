import type { Pattern } from "../policy/patterns.ts";
import type {
  AuditSettings,
  AuthSettings,
  LimitSettings,
  ListenPlace,
  LogSettings,
  PolicySettings,
  TimeoutSettings,
  UpstreamSettings,
} from "./settings.ts";

/**
 * The settings of a proxy, merged from a policy file and from options, which take precedence. Null or missing means
 * that neither sets the value.
 */
export interface Settings {
  readonly upstream: UpstreamSettings | null;
  readonly listen: ListenPlace | null;
  /** Who may connect. Null if the proxy does not listen on HTTP. */
  readonly auth: AuthSettings | null;
  readonly deny: readonly Pattern[];
  readonly allow: readonly Pattern[];
  readonly limits: Partial<LimitSettings>;
  readonly timeouts: Partial<TimeoutSettings>;
  readonly audit: AuditSettings | null;
  readonly log: LogSettings;
}

/** Options that take precedence over a policy file. For a missing option, the setting of the file applies. */
export interface OwnSettings {
  /**
   * The server, as one of these two. It replaces the one in the policy file, including headers, variables and
   * directory.
   */
  readonly command?: readonly string[];
  readonly url?: string;
  /** Headers and variables are added to those of the policy file, and replace those with the same name. */
  readonly headers?: ReadonlyMap<string, string>;
  readonly env?: ReadonlyMap<string, string>;
  readonly cwd?: string;
  readonly onLoss?: "exit" | "keep";
  readonly listen?: ListenPlace;
  /** Replaces the tokens or the keys of the policy file with all of their settings. */
  readonly auth?: OwnAuth;
  /** Used with the JWKS of the policy file. */
  readonly issuer?: string;
  readonly audience?: string;
  readonly deny?: readonly Pattern[];
  readonly allow?: readonly Pattern[];
  readonly limits?: Partial<LimitSettings>;
  readonly timeouts?: Partial<TimeoutSettings>;
  /** `level` also replaces the classes of the policy file. */
  readonly audit?: Partial<Pick<AuditSettings, "file" | "level">>;
  readonly log?: Partial<LogSettings>;
}

/** Who may connect, without the header that names the client: only the policy file can set that header. */
export type OwnAuth =
  | { readonly kind: "tokens"; readonly file: string }
  | {
      readonly kind: "jwt";
      readonly jwks: string;
      readonly issuer: string;
      readonly audience: string;
      readonly scopes: readonly string[];
    };

/** Merges options with the settings of a policy file, if there is one. */
export function mergeSettings(file: PolicySettings | null, own: OwnSettings): Settings {
  const listen = own.listen ?? file?.listen ?? null;
  return {
    upstream: mergeUpstream(file?.upstream ?? null, own),
    listen,
    auth: listen === null ? null : mergeAuth(file?.auth ?? null, own),
    deny: own.deny ?? file?.tools.deny ?? [],
    allow: own.allow ?? file?.tools.allow ?? [],
    limits: { ...file?.limits, ...own.limits },
    timeouts: { ...file?.timeouts, ...own.timeouts },
    audit: mergeAudit(file?.audit ?? null, own.audit),
    log: mergeLog(file, own.log),
  };
}

/** The same for the log alone, which is needed first. */
export function mergeLog(file: PolicySettings | null, own: OwnSettings["log"]): LogSettings {
  return { ...NO_LOG, ...file?.log, ...own };
}

const NO_LOG: LogSettings = { level: null, format: null, file: null };

function mergeUpstream(file: UpstreamSettings | null, own: OwnSettings): UpstreamSettings | null {
  const { headers = NONE, env = NONE, cwd, onLoss } = own;
  // Headers and variables of the policy file may contain secrets for its own server, so another server does not get
  // them.
  if (own.url !== undefined) return { kind: "url", url: own.url, headers, onLoss: onLoss ?? null };
  if (own.command !== undefined) return { kind: "command", command: own.command, env, cwd: cwd ?? null };
  if (file?.kind === "url")
    return { ...file, headers: overHeaders(file.headers, headers), onLoss: onLoss ?? file.onLoss };
  return file === null ? null : { ...file, env: new Map([...file.env, ...env]), cwd: cwd ?? file.cwd };
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Header names are compared without regard to letter case. */
function overHeaders(file: ReadonlyMap<string, string>, own: ReadonlyMap<string, string>): Map<string, string> {
  const names = new Set(Array.from(own.keys(), (name) => name.toLowerCase()));
  return new Map([...Array.from(file).filter(([name]) => !names.has(name.toLowerCase())), ...own]);
}

function mergeAuth(file: AuthSettings | null, { auth, issuer, audience }: OwnSettings): AuthSettings | null {
  if (auth !== undefined) return { ...auth, identityHeader: file?.identityHeader ?? null };
  if (file?.kind !== "jwt") return file;
  return { ...file, issuer: issuer ?? file.issuer, audience: audience ?? file.audience };
}

function mergeAudit(file: AuditSettings | null, own: OwnSettings["audit"]): AuditSettings | null {
  const path = own?.file ?? file?.file;
  if (path === undefined) return null;
  const include = file?.include ?? null;
  return {
    file: path,
    level: own?.level ?? file?.level ?? "default",
    onError: file?.onError ?? "continue",
    include: own?.level === undefined || include === null ? include : { ...include, classes: null },
  };
}
