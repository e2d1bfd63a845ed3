// Exported from here because interceptors and transforms are both code that users write.
export type { TransformFunction, TransformSubject } from "../transform/module.ts";

/** A message as an interceptor sees it. Values are copies: to change the message, return the new values. */
export interface Intercepted {
  readonly kind: "request" | "notification" | "result" | "error";
  /** `up` is from the client to the server, `down` from the server to the client. */
  readonly direction: "up" | "down";
  /** The method of the message, or for a response the method of its request. */
  readonly method: string | null;
  /** The tool that the message, or the request of a response, calls. */
  readonly tool: string | null;
  /** The params of the message, or for a response those of its request. */
  readonly params: unknown;
  readonly result: unknown;
  readonly error: unknown;
  /** The name that the client gives itself. */
  readonly client: string | null;
  /** Who the client is, if that is known. */
  readonly identity: string | null;
  readonly session: InterceptedSession;
  /** Aborted when nobody waits for the response any more. */
  readonly signal: AbortSignal;
}

/** The state that is kept for a session. */
export interface InterceptedSession {
  /** The key under which rules keep their counts and state. */
  readonly id: string;
  /** The session id that client and server use (`Mcp-Session-Id`), or null if there is none. */
  readonly mcpSessionId: string | null;
  readonly ageMs: number;
  /** How many messages of the session were judged, including this one. */
  readonly messageCount: number;
  /** The counts so far, by method. Responses are counted under the method of their request. */
  readonly methodStats: Readonly<Record<string, MethodCounts>>;
  /** How many calls of this tool there were, or of all tools. */
  calls(tool?: string): number;
  /** Returns a value that `set` stored before. */
  get(key: string): unknown;
  /** Stores a JSON value for the session; `undefined` deletes it. Returns false if there is no room. */
  set(key: string, value: unknown): boolean;
}

/** The counts of one method in a session. */
export interface MethodCounts {
  readonly requests: number;
  readonly results: number;
  readonly errors: number;
  readonly notifications: number;
  /** The sum of the times that responses took, in milliseconds. */
  readonly answeredInMs: number;
}

/** The decision of an interceptor about a message. To return nothing means `allow`. */
export type InterceptResult =
  | void
  | null
  | { readonly action: "allow" }
  | { readonly action: "block"; readonly reason?: string; readonly code?: number }
  /** Members that are left out stay unchanged. */
  | { readonly action: "modify"; readonly params?: unknown; readonly result?: unknown; readonly error?: unknown };

/** Runs after the rules and sees every message. If it throws, the message is blocked. */
export interface Interceptor {
  /** The methods whose messages and responses it wants to see. The default is all methods. */
  readonly methods?: readonly string[];
  intercept(message: Intercepted): InterceptResult | Promise<InterceptResult>;
}

/** Runs before the rules, for one method: one function for requests, one for their responses. */
export interface MethodInterceptor {
  interceptRequest?(params: unknown, message: Intercepted): InterceptResult | Promise<InterceptResult>;
  interceptResponse?(result: unknown, message: Intercepted): InterceptResult | Promise<InterceptResult>;
}
