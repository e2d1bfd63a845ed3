/** A way into a message: keys and indices, from a dotted path or a JSON Pointer. */
export interface Field {
  /** As it was written. */
  readonly text: string;
  readonly steps: readonly (string | number)[];
}
