import type { Message } from "../message/message.ts";
import type { Payload } from "../message/payload.ts";
import type { Call } from "./call.ts";
import type { Exchange } from "./exchange.ts";
import type { SessionView } from "./session-view.ts";
import type { ToolPage } from "./tool-page.ts";

/** A message in its conversation: what was said, and what it belongs to. */
export interface Turn {
  readonly session: SessionView;
  /** The message as it is by now: a rule may have changed it. */
  readonly message: Message;
  /** The message as it came, before any change. */
  readonly came: Payload;
  readonly exchange: Exchange;
  /** The call this message answers, or was meant to. */
  readonly answers: Call | undefined;
  /** The call this message will be, if it goes on its way. */
  readonly opens: Call | undefined;
  /** The call this message is about: the one it cancels. */
  readonly refersTo: Call | undefined;
  /** The tool list this message brings, where lists are looked into. */
  readonly list: ToolPage | "unreadable" | null;
  /** Whether its id is that of a request that is waiting. What refuses it must not be taken for the other's answer. */
  readonly isIdTaken: boolean;
  /** What the conversation has against it, or null. */
  readonly trouble: Trouble | null;
  /** What is worth a note, though nothing is wrong with it. */
  readonly remark: Remark | null;
}

/** A turn while the session is making it. All turns have the same shape: this is made for every message. */
export type TurnDraft = { -readonly [Member in keyof Turn]: Turn[Member] };

/** A turn of which nothing but the message is known yet. What is changed later is `message`; `came` stays as it is set here. */
export function beginTurn(session: SessionView, message: Message, exchange: Exchange): TurnDraft {
  return {
    session,
    message,
    came: message,
    exchange,
    answers: undefined,
    opens: undefined,
    refersTo: undefined,
    list: null,
    isIdTaken: false,
    trouble: null,
    remark: null,
  };
}

/** Why a message that passes is noted all the same. */
export type Remark =
  /** An error that names no request. */
  | "error-without-id"
  /** The cancellation of something that is not waiting. */
  | "unknown-cancel"
  /** Instructions of the server for the model: a way in for words nobody asked for. */
  | "instructions";

/** Why a message that can be read does not fit its conversation. */
export type Trouble =
  /** A request with the id of one that is waiting. Its answer would be taken for the other's. */
  | "duplicate-id"
  /** A request with the id of one that was cancelled or given up, and may still be answered. */
  | "spent-id"
  /** A request more than may wait at once. */
  | "too-many-calls"
  /** A method that only the other side may send. */
  | "wrong-direction"
  /** A request's method without an id: some servers run it, and nobody would see the answer. */
  | "request-without-id"
  /** A notification's method with an id: some peers act on it, others answer it. */
  | "notification-with-id"
  /** An answer nobody waits for. */
  | "stray-answer"
  /** An answer whose id is another spelling of one that is waiting: clients would take it, unfiltered. */
  | "respelled-id"
  /** An answer that cannot be read, to a call that waits. */
  | "unreadable-answer"
  /** A request whose HTTP headers say something else than its body. */
  | "header-mismatch"
  /** A batch, where the revision spoken has none. */
  | "batch";
