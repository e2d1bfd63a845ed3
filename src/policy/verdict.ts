import type { WireError } from "../message/compose.ts";
import type { Edit } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import type { Message } from "../message/message.ts";

/** What should happen to a message. Plain data. */
export type Verdict =
  /** The message is forwarded unchanged. */
  | { readonly do: "pass" }
  /**
   * The message is refused, and the peer that waits gets an error: the sender of a request, or the receiver of a
   * response.
   */
  | {
      readonly do: "deny";
      readonly error: WireError;
      /** If set, a request is answered with this result instead of the error. JSON text. */
      readonly result?: Buffer;
    }
  /** The message is not forwarded, and no error is sent. `reason` is for the audit log, if there is one. */
  | { readonly do: "drop"; readonly reason?: string }
  /** The proxy answers the request itself. `result` is JSON text. */
  | { readonly do: "reply"; readonly result: Buffer }
  /** The message is forwarded without the hidden elements of its list. */
  | { readonly do: "hide"; readonly elements: readonly Span[]; readonly hidden: ReadonlySet<number> }
  /** This message is forwarded instead. */
  | { readonly do: "change"; readonly message: Message }
  /** The message is forwarded with these edits, and no other byte changes. */
  | { readonly do: "edit"; readonly edits: readonly Edit[] }
  /** The message is held until the tools are known, and then judged again. */
  | { readonly do: "park" };

/** A verdict, and the name of the rule that decided; null if no rule objected to the message. */
export interface Decision {
  readonly verdict: Verdict;
  readonly rule: string | null;
  /** A note for the audit log, which does not change the verdict. */
  readonly note?: string | undefined;
  /** What the decision is about, if the message alone does not tell: a tool in a list, a prompt, a resource. */
  readonly about?: string;
  /** The reason, for the log: what is wrong with the message and where. */
  readonly why?: string;
}

/** No rule objects to the message. */
export const PASS: Decision = { verdict: { do: "pass" }, rule: null };
