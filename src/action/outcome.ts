import type { Turn } from "../session/turn.ts";

/** What happens to a message: what is forwarded, and what is sent back to its sender. */
export interface Outcome {
  readonly onward: "untouched" | "nothing" | Buffer;
  readonly back: Buffer | null;
  /** Whether `onward` equals the received bytes: a held message is forwarded from a copy, not as "untouched". */
  readonly isUnchanged?: boolean;
  /** The turns of the message, for links that have more than one way to send it. A batch has several. */
  readonly turns?: readonly Turn[];
  /** The rule that decided, for links that report a refusal in their own way. */
  readonly rule?: string | null;
}

/** The message is forwarded unchanged. */
export const UNTOUCHED: Outcome = { onward: "untouched", back: null };

/** Nothing is forwarded, and nothing is sent back. */
export const NOTHING: Outcome = { onward: "nothing", back: null };
