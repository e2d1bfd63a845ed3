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

/** How a proxy is set up, by a policy file and by options that win over it. Null, or left out, is what neither says. */
export interface Settings {
  readonly upstream: UpstreamSettings | null;
  readonly listen: ListenPlace | null;
  /** Who may come in. Null where nobody comes by HTTP. */
  readonly auth: AuthSettings | null;
  readonly deny: readonly Pattern[];
  readonly allow: readonly Pattern[];
  readonly limits: Partial<LimitSettings>;
  readonly timeouts: Partial<TimeoutSettings>;
  readonly audit: AuditSettings | null;
  readonly log: LogSettings;
}

/** Options that win over a policy file. What is left out is as the file says. */
export interface OwnSettings {
  /** The server, one of both. It takes the place of the one in the file, with all that belongs to that. */
  readonly command?: readonly string[];
  readonly url?: string;
  /** Headers and variables are added to those in the file, and take the place of those with the same name. */
  readonly headers?: ReadonlyMap<string, string>;
  readonly env?: ReadonlyMap<string, string>;
  readonly cwd?: string;
  readonly onLoss?: "exit" | "keep";
  readonly listen?: ListenPlace;
  /** Takes the place of the tokens or of the keys in the file, with all that belongs to them. */
  readonly auth?: OwnAuth;
  /** For keys in the file. */
  readonly issuer?: string;
  readonly audience?: string;
  readonly deny?: readonly Pattern[];
  readonly allow?: readonly Pattern[];
  readonly limits?: Partial<LimitSettings>;
  readonly timeouts?: Partial<TimeoutSettings>;
  /** The level takes the place of the classes in the file, too. */
  readonly audit?: Partial<Pick<AuditSettings, "file" | "level">>;
  readonly log?: Partial<LogSettings>;
}

/** Who may come in, without a header that names the client: that header is for the policy file to name. */
export type OwnAuth =
  | { readonly kind: "tokens"; readonly file: string }
  | {
      readonly kind: "jwt";
      readonly jwks: string;
      readonly issuer: string;
      readonly audience: string;
      readonly scopes: readonly string[];
    };

/** Lays options over what a policy file says, where there is one. */
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

/** The same for the log alone, which is wanted first of all. */
export function mergeLog(file: PolicySettings | null, own: OwnSettings["log"]): LogSettings {
  return { ...NO_LOG, ...file?.log, ...own };
}

const NO_LOG: LogSettings = { level: null, format: null, file: null };

function mergeUpstream(file: UpstreamSettings | null, own: OwnSettings): UpstreamSettings | null {
  const { headers = NONE, env = NONE, cwd, onLoss } = own;
  // A token for one server is none of another's business.
  if (own.url !== undefined) return { kind: "url", url: own.url, headers, onLoss: onLoss ?? null };
  if (own.command !== undefined) return { kind: "command", command: own.command, env, cwd: cwd ?? null };
  if (file?.kind === "url")
    return { ...file, headers: overHeaders(file.headers, headers), onLoss: onLoss ?? file.onLoss };
  return file === null ? null : { ...file, env: new Map([...file.env, ...env]), cwd: cwd ?? file.cwd };
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Names of headers are the same whatever their capitals. */
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
