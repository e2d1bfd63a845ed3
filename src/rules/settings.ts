import type { Json } from "../message/json.ts";
import type { Rule } from "./rule.ts";

/** The settings of the rule engine. */
export interface InterceptorSettings {
  readonly enabled: boolean;
  /** With `transport`, messages are only relayed and no rule is run. */
  readonly mode: "mcp" | "transport";
  readonly chain: ChainSettings;
  /** In the order of the policy file, including rules that are off. */
  readonly rules: readonly Rule[];
  readonly methodInterceptors: ReadonlyMap<string, MethodInterceptorSettings>;
  readonly interceptors: readonly ModuleSettings[];
}

/** The settings of the chain of interceptors and rules. */
export interface ChainSettings {
  readonly failFast: boolean;
  readonly parallel: boolean;
  readonly timeoutMs: number;
  readonly defaultAction: "allow" | "block";
  readonly onError: "block" | "allow";
}

/** An interceptor for one method. */
export type MethodInterceptorSettings =
  | {
      readonly kind: "tool-call";
      /** Null for all tools. */
      readonly allowedTools: readonly string[] | null;
      readonly perMinute: number | null;
    }
  | {
      readonly kind: "resource-access";
      /** Null for all paths. */
      readonly allowedPaths: readonly string[] | null;
      /** Globs. */
      readonly denyPatterns: readonly string[];
    }
  | ({ readonly kind: "module" } & ModuleSettings);

/** A user's module. */
export interface ModuleSettings {
  readonly module: string;
  /** The module as written in the policy file, if `module` was made absolute. */
  readonly written?: string;
  readonly export: string;
  readonly options: Json;
}
