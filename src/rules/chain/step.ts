import type { Change } from "../../action/change.ts";
import type { WireError } from "../../message/compose.ts";
import type { SessionRecord } from "../../store/sessions.ts";
import type { Taken } from "../../store/limits.ts";
import type { Maybe } from "../../store/maybe.ts";
import type { HoldSetting } from "./hold.ts";
import type { Stop } from "./stop.ts";

/** What an interceptor says to a message: nothing, a refusal, what is to be different, or that a person shall decide. */
export type StepAnswer =
  | null
  | { readonly refusal: WireError }
  | { readonly change: Change }
  | { readonly hold: HoldSetting };

/** What an interceptor may ask for beside the message. */
export interface StepContext {
  readonly session: SessionRecord;
  /** Says when nobody waits for it any more. */
  signal(): AbortSignal;
  /** Takes one of what is allowed under a key of its own. What was taken before a server's question is not taken again. */
  charge(key: string, limit: number, windowMs: number): Maybe<Taken>;
}

/** An interceptor in the chain, beside the rules: one of ours, or one that somebody else wrote. */
export interface Step {
  /** How it is called in the audit log. */
  readonly name: string;
  /** Whether it has anything to do with messages like this one. Cheap: it is asked for every message. */
  concerns(moment: Stop["moment"], method: string | null): boolean;
  /** Looks at a message. What it throws, or rejects with, is a failure of the chain, and nothing passes. */
  intercept(stop: Stop, context: StepContext): StepAnswer | Promise<StepAnswer>;
}
