import type { Class } from "../message/methods.ts";
import type { AuditField } from "../record/audit/fields.ts";
import type { Pattern } from "../policy/patterns.ts";
import type { InterceptorSettings } from "../rules/settings.ts";

/**
 * The checked contents of a policy file. Null means that the file does not set this value, so that a command-line option
 * or a default applies.
 */
export interface PolicySettings {
  readonly version: 1;
  readonly upstream: UpstreamSettings | null;
  readonly listen: ListenPlace | null;
  readonly tools: ToolSettings;
  readonly prompts: NameSettings;
  readonly resources: ResourceSettings;
  /** Whether Fairlead checks only tool lists, or all results of the server. */
  readonly validate: "lists" | "results";
  readonly interceptor: InterceptorSettings;
  readonly limits: LimitSettings;
  readonly timeouts: TimeoutSettings;
  readonly audit: AuditSettings | null;
  readonly state: StateSettings;
  readonly auth: AuthSettings | null;
  readonly log: LogSettings;
  /** Reserved for later versions: using one of these keys is a mistake. */
  readonly record: null;
  readonly experiments: null;
  readonly anomaly: null;
  readonly dashboard: null;
  readonly metrics: null;
  readonly tracing: null;
}

/** The server: at a URL, or a child process. */
export type UpstreamSettings =
  | {
      readonly kind: "url";
      /** The URL, with environment variables already filled in. */
      readonly url: string;
      readonly headers: ReadonlyMap<string, string>;
      readonly onLoss: "exit" | "keep" | null;
    }
  | {
      readonly kind: "command";
      readonly command: readonly string[];
      readonly env: ReadonlyMap<string, string>;
      readonly cwd: string | null;
    };

/** The address on which clients connect by HTTP. */
export interface ListenPlace {
  readonly host: string;
  readonly port: number;
}

/** `deny` hides the names that match; `allow` hides all names that do not match. */
export interface NameSettings {
  readonly deny: readonly Pattern[];
  readonly allow: readonly Pattern[];
}

/** The filter for resources, by their URIs. */
export interface ResourceSettings extends NameSettings {
  /** What happens to links to hidden resources in the results of tools and prompts; null if it is not set. */
  readonly links: "keep" | "cut" | "block" | null;
}

/** The tool filter. */
export interface ToolSettings extends NameSettings {
  readonly cache: "startup" | "session" | null;
  readonly refresh: "never" | "on_change" | null;
  readonly notFound: "contract" | "spec" | "upstream" | null;
  readonly hide: "plain" | "strict" | null;
  readonly pin: PinSettings | null;
}

/** The lock file, which stores the accepted definitions of tools. */
export interface PinSettings {
  readonly file: string;
  /** What happens to a tool that differs from its accepted definition. */
  readonly onChange: "hide" | "flag";
}

/** Limits; null means the default. */
export interface LimitSettings {
  readonly maxMessage: number | null;
  readonly maxDepth: number | null;
  readonly maxBuffer: number | null;
  readonly maxOpenCalls: number | null;
  readonly maxSessions: number | null;
  readonly maxParked: number | null;
  readonly maxChildren: number | null;
  readonly maxConnections: number | null;
  readonly maxUpstreamConnections: number | null;
}

/** Timeouts in milliseconds; null means the default. */
export interface TimeoutSettings {
  readonly connection: number | null;
  readonly toolList: number | null;
  readonly childGrace: number | null;
  readonly sessionIdle: number | null;
  readonly slowReader: number | null;
}

/** The audit log. */
export interface AuditSettings {
  readonly file: string;
  readonly level: "default" | "all";
  readonly onError: "continue" | "block";
  readonly include: AuditInclude | null;
}

/** What the audit log contains. Null means the default. */
export interface AuditInclude {
  /** The optional fields of records. */
  readonly fields: readonly AuditField[] | null;
  /** The classes of messages that are recorded. */
  readonly classes: readonly Class[] | null;
}

/** The state that is kept for sessions and conversations. */
export interface StateSettings {
  readonly store: "memory";
  readonly ttlMs: number | null;
  readonly maxSessions: number | null;
  readonly maxConversations: number | null;
}

/** Who may connect: clients with a token from a file, clients with a token that an issuer signed, or everybody. */
export type AuthSettings = { readonly identityHeader: string | null } & (
  | { readonly kind: "open" }
  | { readonly kind: "tokens"; readonly file: string }
  | {
      readonly kind: "jwt";
      readonly jwks: string;
      readonly issuer: string;
      readonly audience: string;
      readonly scopes: readonly string[];
    }
);

/** The log for people. */
export interface LogSettings {
  readonly level: "error" | "warn" | "info" | "debug" | null;
  readonly format: "text" | "json" | null;
  readonly file: string | null;
}
