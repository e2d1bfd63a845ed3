import type { Id } from "../message/id.ts";
import type { Message } from "../message/message.ts";
import type { Method } from "../message/methods.ts";
import type { Era } from "../message/protocol.ts";

/** A request that somebody waits for. */
export interface Call {
  readonly id: Id;
  readonly method: Method;
  /** What it is about: the tool, prompt, resource or task. Of a long link only the beginning. */
  readonly subject: string | null;
  /** The cursor it asks a list with; null for the first page, undefined where it is no text, or too long to keep. */
  readonly cursor: string | null | undefined;
  readonly era: Era;
  /** When it came, by the session's clock. */
  readonly since: number;
  /** How often the tool list had changed by then, where it asks for that. */
  readonly listVersion: number;
  /** Who takes the answer, where the request is our own. Null where the answer was lost. */
  readonly claim: ((answer: Message | null) => void) | null;
  /** Held by us: the other side has not seen it yet, or the one who asked has not seen the answer. */
  parked: boolean;
  /** How many calls its table had been given before. */
  nth: number;
  /** What whoever judges wants to know again when the answer comes. */
  memo: Keepsake | null;
}

/** Something that is kept with an open call. */
export interface Keepsake {
  readonly bytes: number;
}

/** Makes a call. One function for all, so that they have one shape. */
export function createCall(
  id: Id,
  method: Method,
  subject: string | null,
  cursor: string | null | undefined,
  era: Era,
  since: number,
  listVersion: number,
  claim: Call["claim"],
): Call {
  return { id, method, subject, cursor, era, since, listVersion, claim, parked: false, nth: 0, memo: null };
}
