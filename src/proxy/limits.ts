/** Everything that can grow, and how far. */
export interface Limits {
  /** Bytes of one message. */
  readonly maxMessageBytes: number;
  /** Requests that may wait at once, in each direction. */
  readonly maxOpenCalls: number;
  /** Bytes of messages that wait for something of ours. */
  readonly maxParkedBytes: number;
}

/** Ten megabytes a message, a thousand open calls. */
export const DEFAULT_LIMITS: Limits = {
  maxMessageBytes: 10 * 1024 * 1024,
  maxOpenCalls: 1000,
  maxParkedBytes: 64 * 1024 * 1024,
};

/** How long things may take, in milliseconds. */
export interface Timeouts {
  /** The whole tool list. */
  readonly toolList: number;
  /** Between closing a child's stdin and killing it. */
  readonly childGrace: number;
}

/** The contract's times. */
export const DEFAULT_TIMEOUTS: Timeouts = { toolList: 10_000, childGrace: 5_000 };
