import type { ForkWatch } from "./services.ts";
import type { Call, Keepsake } from "../../session/call.ts";
import type { Part } from "../fields.ts";
import type { AnswerKey, LimitKey } from "../../store/keys.ts";

/** What the chain keeps of a request until its answer comes. */
export interface CallMemo extends Keepsake {
  /** A copy of its params, where a rule will look into them. Undefined where they were too large to keep. */
  readonly params: Part | null | undefined;
  /** What the client called itself. */
  readonly client: string | null;
  /** Under which keys the answer is to be kept. */
  readonly caches: readonly CacheNote[];
  /** The limits it was charged to. They are not charged again where the same call is taken up once more. */
  readonly charged: readonly LimitKey[];
  /** Those who compare its answer with those of its copies. */
  readonly forks: readonly ForkWatch[];
  /** What it asks for, where it was charged and is not too large to be compared. */
  readonly hash: string | null;
}

/** What a chain has kept with a call. The first chain has no name; chains beside it have. */
export function memoOf({ memo, beside }: Call, chain: string | null): CallMemo | null {
  return (chain === null ? memo : (beside?.find(chain) ?? null)) as CallMemo | null;
}

/** Where an answer is to be kept. */
export interface CacheNote {
  readonly key: AnswerKey;
  readonly ttlMs: number;
  readonly scope: "private" | "shared";
}

/** Larger params are neither kept nor compared; and no more is kept of all that are open in one conversation. */
export const MAX_KEPT_PARAMS = 1024 * 1024;
export const MAX_KEPT_BYTES = 32 * 1024 * 1024;
