import type { Json } from "../message/json.ts";

/** The counters of one method. */
export interface MethodStatistics {
  readonly requests: number;
  readonly results: number;
  readonly errors: number;
  readonly notifications: number;
  /** The sum of the times from request to response. */
  readonly answeredInMs: number;
  /** When the method was last seen, on the clock used for session ages. */
  readonly lastAt: number;
}

/** What conditions can read about a session. */
export interface SessionFacts {
  /** The key under which rules keep their state. */
  readonly id: string;
  ageMs(): number;
  /** How many messages of the session were judged, this one included. */
  readonly messages: number;
  /** Messages by method. A response counts under the method of its request. */
  readonly methods: ReadonlyMap<string, MethodStatistics>;
  /** How many calls were made before this one, of one tool or (null) of all tools. */
  calls(tool: string | null): number;
  /** The state entries that rules have set. */
  readonly state: ReadonlyMap<string, Json>;
}
