/** Where a value is in the bytes of its message. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the bytes of a message are: in a buffer that often holds other messages, too. A Buffer for each message would
 * cost more than reading most of them.
 */
export interface Payload extends Span {
  readonly bytes: Buffer;
  /** Whether the whole buffer is ASCII. Then it is not checked for valid UTF-8. */
  readonly ascii: boolean;
}
