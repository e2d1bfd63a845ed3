import { createHash } from "node:crypto";
import type { Span } from "../message/envelope.ts";
import { canonicalBytes } from "../message/canonical.ts";
import { type InputKey, keyText, type LimitKey } from "./keys.ts";
import type { Maybe } from "./maybe.ts";

/** A call to which the server responded with input requests, kept until the client retries the call with the inputs. */
export interface OpenInput {
  /** The hash of the call (`hashCall`), by which the retry is recognised. */
  readonly hash: string | null;
  /** The limits that the call was counted against. */
  readonly charged: readonly LimitKey[];
  /** The method of each input request, by its key. */
  readonly methods: ReadonlyMap<string, string>;
}

/** The calls that wait for inputs. */
export interface Inputs {
  remember(key: InputKey, input: OpenInput): Maybe<void>;
  find(key: InputKey): Maybe<OpenInput | undefined>;
  /**
   * Returns the limits that a call was counted against if this retry asks for the same; otherwise an empty list. After
   * that the list is empty for every further retry. Checking and clearing must be one atomic step, so that only one of
   * several concurrent retries is not counted again. `hash` computes the hash of the retry, which is slow for large
   * params.
   */
  spend(key: InputKey, hash: () => string): Maybe<readonly LimitKey[]>;
  /**
   * Whether nothing is stored, as far as this process knows without asking a remote store. Callers then skip the
   * lookup.
   */
  isEmpty(): boolean;
}

/** Calls kept in the memory of this process. */
export interface MemoryInputs extends Inputs {
  remember(key: InputKey, input: OpenInput): void;
  find(key: InputKey): OpenInput | undefined;
  spend(key: InputKey, hash: () => string): readonly LimitKey[];
  /** How many characters are stored. */
  readonly characters: number;
}

/**
 * Limits the total number of characters, because the server chooses the keys of its input requests and they may be
 * long.
 */
const MAX_INPUT_CHARACTERS = 8 * 1024 * 1024;
const INPUT_TTL_MS = 3_600_000;

/** Keeps calls in memory. When a limit is reached, the oldest calls are removed first. */
export function createMemoryInputs(now: () => number, maxInputs: number): MemoryInputs {
  const inputs = new Map<string, { input: OpenInput; readonly size: number; readonly until: number }>();
  let characters = 0;

  function drop(hash: string): void {
    characters -= inputs.get(hash)?.size ?? 0;
    inputs.delete(hash);
  }

  function known(key: InputKey): { input: OpenInput } | undefined {
    const found = inputs.get(digest(keyText(key)));
    return found === undefined || found.until <= now() ? undefined : found;
  }

  return {
    get characters() {
      return characters;
    },
    isEmpty: () => inputs.size === 0,
    remember(key, input) {
      const hash = digest(keyText(key));
      drop(hash);
      const size = sizeOf(input);
      inputs.set(hash, { input, size, until: now() + INPUT_TTL_MS });
      characters += size;
      for (const oldest of inputs.keys()) {
        if (inputs.size <= maxInputs && characters <= MAX_INPUT_CHARACTERS) break;
        drop(oldest);
      }
    },
    find: (key) => known(key)?.input,
    spend(key, hash) {
      const found = known(key);
      if (found === undefined || found.input.charged.length === 0 || found.input.hash !== hash()) return NONE;
      const { charged } = found.input;
      found.input = { ...found.input, charged: NONE };
      return charged;
    },
  };
}

const NONE: readonly LimitKey[] = [];

function sizeOf({ charged, methods }: OpenInput): number {
  let size = 0;
  for (const { id, key } of charged) size += id.length + key.length;
  for (const [key, method] of methods) size += key.length + method.length;
  return size;
}

/** A hash of what a call asks for, without the inputs that the client adds when it retries the call. */
export function hashCall(bytes: Buffer, params: Span): string {
  return digest(canonicalBytes(bytes, params, { without: ["_meta", "inputResponses", "requestState"] }));
}

function digest(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("base64url");
}
