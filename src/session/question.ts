import type { Era } from "../message/protocol.ts";

/** A request of our own. */
export interface Question {
  readonly method: string;
  /** JSON text. */
  readonly params: string;
  readonly era: Era;
  /** The cursor in the params, where it asks for a page of a list. */
  readonly cursor: string | null;
  readonly timeoutMs: number;
}
