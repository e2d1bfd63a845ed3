import { MAX_BUFFER_BYTES } from "../message/gist.ts";
import { MAX_DEPTH } from "../message/scan.ts";

/** Everything that can grow, and how far. */
export interface Limits {
  /** Bytes of one message. */
  readonly maxMessageBytes: number;
  /** Bytes without an end: a message that is too large is followed so far, to tell whoever waits, and then given up. */
  readonly maxBufferBytes: number;
  /** How deep a message may be nested, at most 128. */
  readonly maxDepth: number;
  /** Requests that may wait at once, in each direction. */
  readonly maxOpenCalls: number;
  /** Bytes of messages that wait for something of ours. */
  readonly maxParkedBytes: number;
  /** Sessions of clients that come by HTTP. */
  readonly maxSessions: number;
  /** Child processes at once, where each of those sessions has one. */
  readonly maxChildren: number;
  /** Connections of clients that come by HTTP. */
  readonly maxConnections: number;
  /** Requests to a server at a URL that are on their way at once, each on a connection of its own. */
  readonly maxUpstreamConnections: number;
}

/** Ten megabytes a message, a thousand open calls. */
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

/** How long things may take, in milliseconds. */
export interface Timeouts {
  /** Until a server at a URL has been reached and has answered. */
  readonly connection: number;
  /** The whole tool list. */
  readonly toolList: number;
  /** Between closing a child's stdin and killing it. */
  readonly childGrace: number;
  /** How long a session without an open stream is kept, where it has a process of its own. */
  readonly sessionIdle: number;
  /** How long a client that has closed stdin may take nothing of what is left for it. */
  readonly slowReader: number;
  /** How long clients have to leave when we are told to end. */
  readonly drain: number;
}

/** The contract's times. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  connection: 30_000,
  toolList: 10_000,
  childGrace: 5_000,
  sessionIdle: 600_000,
  slowReader: 30_000,
  drain: 10_000,
};
