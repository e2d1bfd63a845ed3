// What rules change messages with is code of the same people.
export type { TransformFunction, TransformSubject } from "../../action/transform/module.ts";

/** A message, as interceptors see it. Values are copies: to change the message, return what it should be. */
export interface Intercepted {
  readonly kind: "request" | "notification" | "result" | "error";
  /** `up` is from the client to the server, `down` the other way. */
  readonly direction: "up" | "down";
  /** Its method, or that of the request it answers. */
  readonly method: string | null;
  /** The tool that is called, or was. */
  readonly tool: string | null;
  /** Its params, or those of the request it answers. */
  readonly params: unknown;
  readonly result: unknown;
  readonly error: unknown;
  /** What the client calls itself, and who it is. */
  readonly client: string | null;
  readonly identity: string | null;
  readonly session: InterceptedSession;
  /** Says when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What is remembered of the conversation. */
export interface InterceptedSession {
  /** The key under which rules count and remember. */
  readonly id: string;
  /** The id by which client and server know the session, or null. */
  readonly mcpSessionId: string | null;
  readonly ageMs: number;
  /** How many messages were judged in it, this one included. */
  readonly messageCount: number;
  /** What was counted of each method so far: answers under the method of their request. */
  readonly methodStats: Readonly<Record<string, MethodCounts>>;
  /** How many calls there were: of a tool, or of all. */
  calls(tool?: string): number;
  /** What was noted before. */
  get(key: string): unknown;
  /** Notes something: JSON. Undefined takes it out. False where there is no room. */
  set(key: string, value: unknown): boolean;
}

/** What is counted of one method in a session. */
export interface MethodCounts {
  readonly requests: number;
  readonly results: number;
  readonly errors: number;
  readonly notifications: number;
  /** The time that answers took, all together, in milliseconds. */
  readonly answeredInMs: number;
}

/** What an interceptor says to a message. Nothing is as good as `allow`. */
export type InterceptResult =
  | void
  | null
  | { readonly action: "allow" }
  | { readonly action: "block"; readonly reason?: string; readonly code?: number }
  /** What is left out stays as it is. */
  | { readonly action: "modify"; readonly params?: unknown; readonly result?: unknown; readonly error?: unknown };

/** Stands in the chain behind the rules, and looks at every message. What it throws blocks the message. */
export interface Interceptor {
  /** The methods it wants to see, and the answers to them. All, where it does not say. */
  readonly methods?: readonly string[];
  intercept(message: Intercepted): InterceptResult | Promise<InterceptResult>;
}

/** Stands before the rules, for one method: a hook for what is asked, and one for what is answered. */
export interface MethodInterceptor {
  interceptRequest?(params: unknown, message: Intercepted): InterceptResult | Promise<InterceptResult>;
  interceptResponse?(result: unknown, message: Intercepted): InterceptResult | Promise<InterceptResult>;
}
