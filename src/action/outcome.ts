import type { Turn } from "../session/turn.ts";

/** What does happen to a message: what goes on, and what goes back to its sender. */
export interface Outcome {
  readonly onward: "untouched" | "nothing" | Buffer;
  readonly back: Buffer | null;
  /** Whether `onward` are the bytes that came: a message that had to wait leaves with a copy of its own. */
  readonly isUnchanged?: boolean;
  /** What the message was in its conversation, for links that have more than one way to send it. More than one in a batch. */
  readonly turns?: readonly Turn[];
  /** Who refused it, for links that say so in their own manner. */
  readonly rule?: string | null;
}

/** It goes on as it came. */
export const UNTOUCHED: Outcome = { onward: "untouched", back: null };

/** Nothing goes anywhere. */
export const NOTHING: Outcome = { onward: "nothing", back: null };
