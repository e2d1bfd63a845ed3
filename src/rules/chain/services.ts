import type { Message } from "../../message/message.ts";
import type { ActionOf, Rule } from "../rule.ts";
import type { HoldBook } from "../../store/holds.ts";
import type { Turn } from "../../session/turn.ts";

/** The response of a webhook or a script: a body, or why there is none. */
export type HookReply = { readonly body: Buffer } | { readonly failure: string };

/** Compares the responses to copies of a request with the response to the request itself. */
export interface ForkWatch {
  answered(message: Message): void;
}

/** The side effects and the clock that the chain uses. */
export interface ChainServices {
  /** Writes a line to the log under the name of a rule. */
  report(level: ActionOf<"log">["level"], rule: string, text: string, fields?: Readonly<Record<string, string>>): void;
  /**
   * Counts what a rule would have done (labels `action` and `rule`), or that it could not be applied (label `rule`).
   */
  count(name: "would" | "failed", labels: Readonly<Record<string, string>>): void;
  metric(name: string, value: number): void;
  /** Sends an event to a webhook without waiting for a response. */
  tell(action: ActionOf<"webhook">, body: Buffer): void;
  /** Asks a webhook or a script, and waits for the response. Never rejects. */
  ask(action: ActionOf<"webhook"> | ActionOf<"run_script">, body: Buffer, signal: AbortSignal): Promise<HookReply>;
  /** Sends copies of a request to a server. The returned object is given the response to the request itself. */
  fork(action: ActionOf<"fork">, rule: Rule, turn: Turn, message: Message): ForkWatch | null;
  /** Holds a message until a person decides. Never rejects. */
  hold: HoldBook["hold"];
  /** Waits. Rejects if the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Milliseconds on a monotonic clock. */
  now(): number;
}
