import type { Timeouts } from "./limits.ts";

/** What a proxy in front of a server at a URL was told to do. It does not change while the proxy runs. */
export interface ProxyConfig {
  readonly upstreamUrl: string;
  readonly denyPatterns: readonly string[];
  readonly timeouts: Pick<Timeouts, "connection" | "toolList">;
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
