import type { Class } from "../../message/methods.ts";
import type { AuditField } from "../audit-fields.ts";
import type { Pattern } from "../patterns.ts";
import type { Json, Rule } from "../rules/rule.ts";

/**
 * What a policy file says, checked. Null is what it does not say, where a flag or a default may
 * still say it.
 */
export interface PolicySettings {
  readonly version: 1;
  readonly upstream: UpstreamSettings | null;
  readonly listen: ListenPlace | null;
  readonly tools: ToolSettings;
  readonly prompts: NameSettings;
  readonly resources: ResourceSettings;
  /** What the server's answers are checked for. */
  readonly validate: "lists" | "results";
  readonly interceptor: InterceptorSettings;
  readonly limits: LimitSettings;
  readonly timeouts: TimeoutSettings;
  readonly audit: AuditSettings | null;
  readonly state: StateSettings;
  readonly auth: AuthSettings | null;
  readonly log: LogSettings;
  /** For versions to come: known, and a mistake where they are used. */
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
      /** Variables are filled in. */
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

/** Where clients come in by HTTP. */
export interface ListenPlace {
  readonly host: string;
  readonly port: number;
}

/** Names that are hidden, and the only ones that are not. */
export interface NameSettings {
  readonly deny: readonly Pattern[];
  readonly allow: readonly Pattern[];
}

/** Resources, by their links. */
export interface ResourceSettings extends NameSettings {
  /** What becomes of links to hidden ones in the results of tools and prompts; null where nothing is said. */
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

/** The lock file that remembers the definitions of tools. */
export interface PinSettings {
  readonly file: string;
  /** What becomes of a tool that is not as it was accepted. */
  readonly onChange: "hide" | "flag";
}

/** The rule engine. */
export interface InterceptorSettings {
  readonly enabled: boolean;
  /** `transport` relays only: no rule is run. */
  readonly mode: "mcp" | "transport";
  readonly chain: ChainSettings;
  /** In the order of the file. Those that are off are there, too. */
  readonly rules: readonly Rule[];
  readonly methodInterceptors: ReadonlyMap<string, MethodInterceptorSettings>;
  readonly interceptors: readonly ModuleSettings[];
}

/** How the chain is walked. */
export interface ChainSettings {
  readonly failFast: boolean;
  readonly parallel: boolean;
  readonly timeoutMs: number;
  readonly defaultAction: "allow" | "block";
  readonly onError: "block" | "allow";
}

/** What stands around one method. */
export type MethodInterceptorSettings =
  | {
      readonly kind: "tool-call";
      /** Null for all. */
      readonly allowedTools: readonly string[] | null;
      readonly perMinute: number | null;
    }
  | {
      readonly kind: "resource-access";
      /** Null for all. */
      readonly allowedPaths: readonly string[] | null;
      /** Globs. */
      readonly denyPatterns: readonly string[];
    }
  | ({ readonly kind: "module" } & ModuleSettings);

/** A module of the user's own. */
export interface ModuleSettings {
  readonly module: string;
  /** The module as the file has it, where `module` was made absolute. */
  readonly written?: string;
  readonly export: string;
  readonly options: Json;
}

/** Bounds; null for ours. */
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

/** Milliseconds; null for ours. */
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

/** What the audit log has. Null for what it has unless said otherwise. */
export interface AuditInclude {
  /** What records say beside what every record has. */
  readonly fields: readonly AuditField[] | null;
  /** The classes of messages that have a record. */
  readonly classes: readonly Class[] | null;
}

/** What is remembered of sessions and conversations. */
export interface StateSettings {
  readonly store: "memory";
  readonly ttlMs: number | null;
  readonly maxSessions: number | null;
  readonly maxConversations: number | null;
}

/** Who may come in: those in a file of tokens, those with a token that an issuer signed, or everybody. */
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
