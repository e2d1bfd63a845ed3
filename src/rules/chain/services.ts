import type { Message } from "../../message/message.ts";
import type { ActionOf, Rule } from "../rule.ts";
import type { HoldBook } from "../../store/holds.ts";
import type { Turn } from "../../session/turn.ts";

/** What came back from a webhook or a script: a body, or why none did. */
export type HookReply = { readonly body: Buffer } | { readonly failure: string };

/** Compares what copies of a request bring with what the request itself brings. */
export interface ForkWatch {
  answered(message: Message): void;
}

/** What the chain needs of the world. */
export interface ChainServices {
  /** Says something to people, under the name of a rule. */
  report(level: ActionOf<"log">["level"], rule: string, text: string, fields?: Readonly<Record<string, string>>): void;
  /** Counts what a rule would have done, `action` and `rule`, or that it could not be followed, `rule`. */
  count(name: "would" | "failed", labels: Readonly<Record<string, string>>): void;
  metric(name: string, value: number): void;
  /** Tells a webhook something and waits for nothing. */
  tell(action: ActionOf<"webhook">, body: Buffer): void;
  /** Asks a webhook or a script, and waits. Never rejects. */
  ask(action: ActionOf<"webhook"> | ActionOf<"run_script">, body: Buffer, signal: AbortSignal): Promise<HookReply>;
  /** Sends copies of a request to a server. Whoever is returned hears the answer to the request itself. */
  fork(action: ActionOf<"fork">, rule: Rule, turn: Turn, message: Message): ForkWatch | null;
  /** Holds a message until a person decides. Never rejects. */
  hold: HoldBook["hold"];
  /** Waits. Rejects when the signal says so. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** Milliseconds on a clock that does not jump. */
  now(): number;
}
