import type { Id } from "../message/id.ts";
import type { Message } from "../message/message.ts";
import type { Method } from "../message/methods.ts";
import type { Era } from "../message/protocol.ts";

/** An open call: a request whose response is pending. */
export interface Call {
  readonly id: Id;
  readonly method: Method;
  /** What the request is about: the tool, prompt, resource or task. Of a long URI only the beginning is kept. */
  readonly subject: string | null;
  /** The cursor of a list request; null for the first page, undefined if it is not a string, or too long to keep. */
  readonly cursor: string | null | undefined;
  readonly era: Era;
  /** When the request arrived, by the session's clock. */
  readonly since: number;
  /** The version of the tool list when the request arrived, if it asks for that list. */
  readonly listVersion: number;
  /**
   * Takes the response if the request is the proxy's own, or null if the response was lost. Null for other requests.
   */
  readonly claim: ((answer: Message | null) => void) | null;
  /** Held by the proxy: the request has not been forwarded yet, or its response has not been forwarded yet. */
  parked: boolean;
  /** How many calls were added to its index before this one. */
  nth: number;
  /** What the chain keeps for the rules that judge the response. */
  memo: Keepsake | null;
  /** What additional chains keep for their rules. Null if there are none. */
  beside: SideMemos | null;
}

/** Data that is kept with an open call. */
export interface Keepsake {
  readonly bytes: number;
}

/**
 * What additional chains keep with a call, each under its own name. Such a chain may finish after the call was opened;
 * what it keeps then is counted, too. The bytes are counted separately from those of the first chain.
 */
export interface SideMemos {
  find(chain: string): Keepsake | null;
  keep(chain: string, memo: Keepsake): void;
  readonly bytes: number;
  /** The counter of the call table, which includes these bytes while the call is open. Null while it is not. */
  counter: { bytes: number } | null;
}

/** Makes an empty store for what additional chains keep with a call. */
export function createSideMemos(): SideMemos {
  const memos = new Map<string, Keepsake>();
  let bytes = 0;
  const side: SideMemos = {
    counter: null,
    get bytes() {
      return bytes;
    },
    find: (chain) => memos.get(chain) ?? null,
    keep(chain, memo) {
      const more = memo.bytes - (memos.get(chain)?.bytes ?? 0);
      memos.set(chain, memo);
      bytes += more;
      if (side.counter !== null) side.counter.bytes += more;
    },
  };
  return side;
}

/** Makes a call. All calls are created here, so that V8 gives them one hidden class. */
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
  return {
    id,
    method,
    subject,
    cursor,
    era,
    since,
    listVersion,
    claim,
    parked: false,
    nth: 0,
    memo: null,
    beside: null,
  };
}
