import type { ForkWatch } from "./services.ts";
import type { Call, Keepsake } from "../../session/call.ts";
import type { Part } from "../fields.ts";
import type { AnswerKey, LimitKey } from "../../store/keys.ts";

/** What the chain keeps of a request until its response arrives. */
export interface CallMemo extends Keepsake {
  /** A copy of the params if a rule will look into them. Undefined if they were too large to keep. */
  readonly params: Part | null | undefined;
  /** The name that the client gave itself. */
  readonly client: string | null;
  /** The cache keys under which the response is kept. */
  readonly caches: readonly CacheNote[];
  /** The limits that the call was counted against. They do not count a retry of the same call. */
  readonly charged: readonly LimitKey[];
  /** The objects that compare the response with those of the copies. */
  readonly forks: readonly ForkWatch[];
  /** The hash of the call (`hashCall`), if it was counted against a limit and is not too large. */
  readonly hash: string | null;
}

/** The memo that a chain has kept with a call. The first chain has no name; chains that run beside it have one. */
export function memoOf({ memo, beside }: Call, chain: string | null): CallMemo | null {
  return (chain === null ? memo : (beside?.find(chain) ?? null)) as CallMemo | null;
}

/** Where a response is cached. */
export interface CacheNote {
  readonly key: AnswerKey;
  readonly ttlMs: number;
  readonly scope: "private" | "shared";
}

/** The largest params that are kept or hashed, and the limit for the params of all open calls of one session. */
export const MAX_KEPT_PARAMS = 1024 * 1024;
export const MAX_KEPT_BYTES = 32 * 1024 * 1024;
