import { createHash } from "node:crypto";
import type { Span } from "../message/envelope.ts";
import { canonicalBytes } from "../message/canonical.ts";

/** A call that a server answered with questions, until it is taken up again. */
export interface OpenInput {
  /** What the call asks for. */
  readonly hash: string | null;
  /** The limits it was charged to. */
  readonly charged: readonly string[];
  /** What was asked, by its key. */
  readonly methods: ReadonlyMap<string, string>;
}

/** The calls that wait to be taken up again. */
export interface InputBook {
  readonly size: number;
  remember(scope: string, state: string, input: OpenInput): void;
  find(scope: string, state: string): OpenInput | undefined;
  /** A call was taken up again: whoever does so once more is charged once more. */
  spend(scope: string, state: string): void;
  /** How much is remembered. */
  readonly characters: number;
}

/** Characters of all that is remembered. The names of the questions are the server's, and may be long. */
const MAX_INPUT_CHARACTERS = 8 * 1024 * 1024;
const INPUT_TTL_MS = 3_600_000;

/** Makes a book in memory. Where it is full, the oldest go. */
export function createInputBook(now: () => number, maxInputs: number): InputBook {
  const inputs = new Map<string, { input: OpenInput; readonly size: number; readonly until: number }>();
  let characters = 0;

  function drop(key: string): void {
    characters -= inputs.get(key)?.size ?? 0;
    inputs.delete(key);
  }

  return {
    get size() {
      return inputs.size;
    },
    get characters() {
      return characters;
    },
    remember(scope, state, input) {
      const key = keyOf(scope, state);
      drop(key);
      const size = sizeOf(input);
      inputs.set(key, { input, size, until: now() + INPUT_TTL_MS });
      characters += size;
      for (const oldest of inputs.keys()) {
        if (inputs.size <= maxInputs && characters <= MAX_INPUT_CHARACTERS) break;
        drop(oldest);
      }
    },
    find(scope, state) {
      const known = inputs.get(keyOf(scope, state));
      return known === undefined || known.until <= now() ? undefined : known.input;
    },
    spend(scope, state) {
      const known = inputs.get(keyOf(scope, state));
      if (known !== undefined) known.input = { ...known.input, charged: [] };
    },
  };
}

function sizeOf({ charged, methods }: OpenInput): number {
  let size = 0;
  for (const key of charged) size += key.length;
  for (const [key, method] of methods) size += key.length + method.length;
  return size;
}

/** What a call asks for, whatever was answered to the server's questions meanwhile. */
export function hashCall(bytes: Buffer, params: Span): string {
  return digest(canonicalBytes(bytes, params, { without: ["_meta", "inputResponses", "requestState"] }));
}

function keyOf(scope: string, state: string): string {
  return digest(JSON.stringify([scope, state]));
}

function digest(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("base64url");
}
