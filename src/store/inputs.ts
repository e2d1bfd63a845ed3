import { createHash } from "node:crypto";
import type { Span } from "../message/envelope.ts";
import { canonicalBytes } from "../message/canonical.ts";
import { type InputKey, keyText, type LimitKey } from "./keys.ts";
import type { Maybe } from "./maybe.ts";

/** A call that a server answered with questions, until it is taken up again. */
export interface OpenInput {
  /** What the call asks for. */
  readonly hash: string | null;
  /** The limits it was charged to. */
  readonly charged: readonly LimitKey[];
  /** What was asked, by its key. */
  readonly methods: ReadonlyMap<string, string>;
}

/** The calls that wait to be taken up again. */
export interface Inputs {
  remember(key: InputKey, input: OpenInput): Maybe<void>;
  find(key: InputKey): Maybe<OpenInput | undefined>;
  /**
   * The limits that a call was charged to, where this one asks for the same; none otherwise. From then on it has none: to
   * look and to take must be one atomic step, so that of several that take the same call up again at the same time only
   * one is not charged. `hash` computes what this call asks for, which takes a while where that is large.
   */
  spend(key: InputKey, hash: () => string): Maybe<readonly LimitKey[]>;
  /** Whether nothing is remembered, as far as that is known without asking: then nobody needs to look for a key. */
  isEmpty(): boolean;
}

/** Calls that are remembered in the memory of this process. */
export interface MemoryInputs extends Inputs {
  remember(key: InputKey, input: OpenInput): void;
  find(key: InputKey): OpenInput | undefined;
  spend(key: InputKey, hash: () => string): readonly LimitKey[];
  /** How much is remembered. */
  readonly characters: number;
}

/** Characters of all that is remembered. The names of the questions are the server's, and may be long. */
const MAX_INPUT_CHARACTERS = 8 * 1024 * 1024;
const INPUT_TTL_MS = 3_600_000;

/** Remembers calls in memory. Where there is no room, the oldest go first. */
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

/** What a call asks for, whatever was answered to the server's questions meanwhile. */
export function hashCall(bytes: Buffer, params: Span): string {
  return digest(canonicalBytes(bytes, params, { without: ["_meta", "inputResponses", "requestState"] }));
}

function digest(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("base64url");
}
