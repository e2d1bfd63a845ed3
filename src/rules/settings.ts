import type { Json } from "../message/json.ts";
import type { Rule } from "./rule.ts";

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
