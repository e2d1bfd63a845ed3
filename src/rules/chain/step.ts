import type { Change } from "../../action/change.ts";
import type { WireError } from "../../message/compose.ts";
import type { SessionRecord } from "../../store/sessions.ts";
import type { Taken } from "../../store/limits.ts";
import type { Maybe } from "../../store/maybe.ts";
import type { HoldSetting } from "./hold.ts";
import type { Stop } from "./stop.ts";

/** The decision of an interceptor: none, a refusal, a change, or to hold the message for a person. */
export type StepAnswer =
  | null
  | { readonly refusal: WireError }
  | { readonly change: Change }
  | { readonly hold: HoldSetting };

/** What an interceptor can use in addition to the message. */
export interface StepContext {
  readonly session: SessionRecord;
  /** Aborts when the decision is not needed any more. */
  signal(): AbortSignal;
  /** Counts one event under a key of this interceptor. A call that is retried with inputs is not counted again. */
  charge(key: string, limit: number, windowMs: number): Maybe<Taken>;
}

/** An interceptor in the chain: one that is built in, or one from a user's module. */
export interface Step {
  /** Its name in the audit log. */
  readonly name: string;
  /** Whether it judges messages like this one. Must be cheap, because it is called for every message. */
  concerns(moment: Stop["moment"], method: string | null): boolean;
  /** Judges a message. If it throws or rejects, that counts as a failure of the chain, and the message is refused. */
  intercept(stop: Stop, context: StepContext): StepAnswer | Promise<StepAnswer>;
}
