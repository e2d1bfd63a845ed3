/** Where a value stands in the bytes of its message. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the bytes of a message are: part of a buffer, often with neighbours. To make a view of
 * each would cost more than reading most of them.
 */
export interface Payload extends Span {
  readonly bytes: Buffer;
  /** Whether there is nothing but ASCII in the whole buffer; then it need not be checked again. */
  readonly ascii: boolean;
}
