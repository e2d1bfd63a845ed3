import type { Era } from "../message/protocol.ts";

/** A request of the proxy's own. */
export interface Question {
  readonly method: string;
  /** JSON text. */
  readonly params: string;
  readonly era: Era;
  /** The cursor in the params, if the request asks for a further page of a list. */
  readonly cursor: string | null;
  readonly timeoutMs: number;
}
