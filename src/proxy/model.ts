import type { MethodCounts } from "../chain/interceptors/interceptor.ts";
import type { Timeouts } from "./limits.ts";

/** What a proxy in front of a server at a URL was told to do. It does not change while the proxy runs. */
export interface ProxyConfig {
  readonly upstreamUrl: string;
  readonly denyPatterns: readonly string[];
  readonly timeouts: Pick<Timeouts, "connection" | "toolList">;
}

/** What is counted of a session, or of the client whose sessions are counted together. */
export interface SessionStatistics {
  /** The key under which rules count and remember. */
  readonly id: string;
  readonly ageMs: number;
  readonly messageCount: number;
  /** How many calls of tools went on. */
  readonly calls: number;
  /** By method; answers are counted under the method of their request. */
  readonly methodStats: Readonly<Record<string, MethodCounts>>;
}

/** A tool that a client may see, as the server described it. Other members are there as well. */
export interface FilteredTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** What a filter makes of a list. No name is in both lists. */
export interface ToolFilterResult {
  readonly allowed: readonly FilteredTool[];
  readonly denied: readonly string[];
  /** Patterns that matched no tool. */
  readonly invalidPatterns: readonly string[];
}
