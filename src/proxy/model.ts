import type { MethodCounts } from "../rules/interceptors/interceptor.ts";
import type { Timeouts } from "./limits.ts";

/** The configuration of a proxy for a server at a URL. It does not change while the proxy runs. */
export interface ProxyConfig {
  readonly upstreamUrl: string;
  readonly denyPatterns: readonly string[];
  readonly timeouts: Pick<Timeouts, "connection" | "toolList">;
}

/** The counts of a session, or of a client if rules count all its sessions together. */
export interface SessionStatistics {
  /** The key under which rules keep their counts and state. */
  readonly id: string;
  readonly ageMs: number;
  readonly messageCount: number;
  /** How many tool calls were forwarded. */
  readonly calls: number;
  /** The counts by method. Responses are counted under the method of their request. */
  readonly methodStats: Readonly<Record<string, MethodCounts>>;
}

/** A tool that the filter shows, as the server described it. It may have further members. */
export interface FilteredTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** The result of filtering a tool list. No name is in both `allowed` and `denied`. */
export interface ToolFilterResult {
  readonly allowed: readonly FilteredTool[];
  readonly denied: readonly string[];
  /** Patterns that matched no tool. */
  readonly invalidPatterns: readonly string[];
}
