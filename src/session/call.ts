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
  /** What the chain keeps for the rules that judge the answer. */
  memo: Keepsake | null;
  /** The same for chains that walk beside it. Null where there are none. */
  beside: SideMemos | null;
}

/** Something that is kept with an open call. */
export interface Keepsake {
  readonly bytes: number;
}

/**
 * What chains beside the first one keep with a call, each under its own name. They may be late: what they keep when the
 * call is open already is counted all the same, and apart from what the first chain keeps.
 */
export interface SideMemos {
  find(chain: string): Keepsake | null;
  keep(chain: string, memo: Keepsake): void;
  readonly bytes: number;
  /** What counts the bytes as long as the call is open. */
  counter: { bytes: number } | null;
}

/** Makes a place for what other chains keep with a call. */
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
