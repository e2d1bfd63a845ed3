import { MAX_BUFFER_BYTES } from "../message/gist.ts";
import { MAX_DEPTH } from "../message/scan.ts";

/** The limits for everything that can grow. */
export interface Limits {
  /** Size of one message, in bytes. */
  readonly maxMessageBytes: number;
  /**
   * How many bytes of a message that is too large are still read, to find the request it belongs to, before it is given
   * up.
   */
  readonly maxBufferBytes: number;
  /** Levels of nesting in a message, at most 128. */
  readonly maxDepth: number;
  /** Open requests in each direction. */
  readonly maxOpenCalls: number;
  /** Bytes of messages that wait in the proxy, for a tool list, a webhook or a delay. */
  readonly maxParkedBytes: number;
  /** Sessions of HTTP clients. */
  readonly maxSessions: number;
  /** Child processes, if each of those sessions has its own. */
  readonly maxChildren: number;
  /** Connections of HTTP clients. */
  readonly maxConnections: number;
  /** Open HTTP requests to a server at a URL. Each uses one connection. */
  readonly maxUpstreamConnections: number;
}

/** The limits that apply unless you set others: ten megabytes per message, a thousand open requests, and so on. */
export const DEFAULT_LIMITS: Limits = {
  maxMessageBytes: 10 * 1024 * 1024,
  maxBufferBytes: MAX_BUFFER_BYTES,
  maxDepth: MAX_DEPTH,
  maxOpenCalls: 1000,
  maxParkedBytes: 64 * 1024 * 1024,
  maxSessions: 10_000,
  maxChildren: 64,
  maxConnections: 10_000,
  maxUpstreamConnections: 10_000,
};

/** Timeouts in milliseconds. */
export interface Timeouts {
  /** Until a server at a URL has responded for the first time. */
  readonly connection: number;
  /** Until the whole tool list has been fetched. */
  readonly toolList: number;
  /** Between closing the stdin of a child process and killing it. */
  readonly childGrace: number;
  /** How long a session with its own process is kept without a request and without an open stream. */
  readonly sessionIdle: number;
  /** How long a client that has closed stdin may read nothing of the output that is left. */
  readonly slowReader: number;
  /** How long open HTTP requests may take to finish when the proxy is stopped. */
  readonly drain: number;
}

/** The timeouts that apply unless you set others. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  connection: 30_000,
  toolList: 10_000,
  childGrace: 5_000,
  sessionIdle: 600_000,
  slowReader: 30_000,
  drain: 10_000,
};
