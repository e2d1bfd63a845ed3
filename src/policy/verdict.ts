import type { WireError } from "../message/compose.ts";
import type { Edit } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import type { Message } from "../message/message.ts";

/** What should happen to a message. Plain data. */
export type Verdict =
  /** It goes on as it came. */
  | { readonly do: "pass" }
  /** It goes no further, and whoever waits is told: the sender of a request, or for an answer the one it was meant for. */
  | {
      readonly do: "deny";
      readonly error: WireError;
      /** What a request is answered with instead, where its refusal is no error: the JSON text of a result. */
      readonly result?: Buffer;
    }
  /** It goes no further, and nobody waits. `reason` is what whoever waits would be told, where there is something to tell. */
  | { readonly do: "drop"; readonly reason?: string }
  /** It is answered here. `result` is JSON text. */
  | { readonly do: "reply"; readonly result: Buffer }
  /** It goes on without these elements of the list it brings. */
  | { readonly do: "hide"; readonly elements: readonly Span[]; readonly hidden: ReadonlySet<number> }
  /** Something of it is different from here on: this is what goes on. */
  | { readonly do: "change"; readonly message: Message }
  /** It goes on with these places changed, and no others. */
  | { readonly do: "edit"; readonly edits: readonly Edit[] }
  /** It waits until the tools are known, and is judged again. */
  | { readonly do: "park" };

/** A verdict, and who decided: the rule's name, or null where nothing spoke against the message. */
export interface Decision {
  readonly verdict: Verdict;
  readonly rule: string | null;
  /** What is worth noting, though it changed nothing. */
  readonly note?: string | undefined;
  /** What it is about, where the message as a whole does not say: a tool in a list, a prompt, a resource. */
  readonly about?: string;
  /** Why, for the log: what is wrong with it and where. */
  readonly why?: string;
}

/** Nothing speaks against it. */
export const PASS: Decision = { verdict: { do: "pass" }, rule: null };
