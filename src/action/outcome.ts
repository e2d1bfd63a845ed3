/** What does happen to a message: what goes on, and what goes back to its sender. */
export interface Outcome {
  readonly onward: "untouched" | "nothing" | Buffer;
  readonly back: Buffer | null;
}

/** It goes on as it came. */
export const UNTOUCHED: Outcome = { onward: "untouched", back: null };

/** Nothing goes anywhere. */
export const NOTHING: Outcome = { onward: "nothing", back: null };
