/** A path into a message: keys and indices, parsed from a dotted path or a JSON Pointer. */
export interface Field {
  /** The path as it was written. */
  readonly text: string;
  readonly steps: readonly (string | number)[];
}
