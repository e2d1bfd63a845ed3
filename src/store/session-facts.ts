import type { Json } from "../message/json.ts";

/** What is counted of one method. */
export interface MethodStatistics {
  readonly requests: number;
  readonly results: number;
  readonly errors: number;
  readonly notifications: number;
  /** The time answers took, all together. */
  readonly answeredInMs: number;
  /** When it was last seen, on the clock that ages are counted by. */
  readonly lastAt: number;
}

/** What rules see of a session. */
export interface SessionFacts {
  /** The key under which rules count and remember. */
  readonly id: string;
  ageMs(): number;
  /** How many messages were judged in it, this one included. */
  readonly messages: number;
  /** The same by method, answers with the method of their request. */
  readonly methods: ReadonlyMap<string, MethodStatistics>;
  /** How many calls went before this one: of a tool, or of all. */
  calls(tool: string | null): number;
  /** What rules have noted in it. */
  readonly state: ReadonlyMap<string, Json>;
}
