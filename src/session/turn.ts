import type { Message } from "../message/message.ts";
import type { Payload } from "../message/payload.ts";
import type { Call } from "./call.ts";
import type { Exchange } from "./exchange.ts";
import type { SessionView } from "./session-view.ts";
import type { ToolPage } from "./tool-page.ts";

/** A message in its conversation: the message itself, and the calls that it belongs to. */
export interface Turn {
  readonly session: SessionView;
  /** The current message: a rule may have changed it. */
  readonly message: Message;
  /** The message as it was received, before any change. */
  readonly came: Payload;
  readonly exchange: Exchange;
  /** The call that this message answers, or was meant to answer. */
  readonly answers: Call | undefined;
  /** The call that this request opens if it is forwarded. */
  readonly opens: Call | undefined;
  /** The call that this notification cancels. */
  readonly refersTo: Call | undefined;
  /** The tool list in this message, if the session learns tools. */
  readonly list: ToolPage | "unreadable" | null;
  /** Whether its id belongs to an open call. Its error response must not be taken for the response to that call. */
  readonly isIdTaken: boolean;
  /** Why the message does not fit its conversation, or null. */
  readonly trouble: Trouble | null;
  /** What the audit log should mention although the message may pass. */
  readonly remark: Remark | null;
}

/** A turn while the session fills it. All turns are created in one place, so that V8 gives them one hidden class. */
export type TurnDraft = { -readonly [Member in keyof Turn]: Turn[Member] };

/** Makes a turn of which only the message is known. `message` may be replaced later; `came` never is. */
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

/** Why the audit log mentions something about a message that passes. */
export type Remark =
  /** An error response without an id. */
  | "error-without-id"
  /** The cancellation of a request that is not an open call. */
  | "unknown-cancel"
  /** The server sends instructions for the model, which can carry a prompt injection. */
  | "instructions";

/** Why a message that can be read does not fit its conversation. */
export type Trouble =
  /** A request with the id of an open call. Its response would be taken for the response to that call. */
  | "duplicate-id"
  /** A request with the id of a call that was cancelled or given up, and may still be answered. */
  | "spent-id"
  /** A request beyond the limit for open calls. */
  | "too-many-calls"
  /** A method that only the other peer may send. */
  | "wrong-direction"
  /** The method of a request without an id: some servers run it, and no peer would see the response. */
  | "request-without-id"
  /** The method of a notification with an id: some peers act on it, others answer it. */
  | "notification-with-id"
  /** A response that does not belong to an open call. */
  | "stray-answer"
  /** A response whose id is another spelling of an open call's id: clients would accept it, unfiltered. */
  | "respelled-id"
  /** A response to an open call that cannot be read. */
  | "unreadable-answer"
  /** A request or notification whose HTTP headers contradict its body. */
  | "header-mismatch"
  /** A batch that is not allowed: by the revision, inside another batch, or because of its size. */
  | "batch";
