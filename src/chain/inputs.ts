import { createHash } from "node:crypto";
import type { Span } from "../message/envelope.ts";
import { canonicalText } from "../message/canonical.ts";

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
}

const MAX_INPUTS = 10_000;
const INPUT_TTL_MS = 3_600_000;

/** Makes a book in memory. Where it is full, the oldest go. */
export function createInputBook(now: () => number): InputBook {
  const inputs = new Map<string, { input: OpenInput; readonly until: number }>();
  return {
    get size() {
      return inputs.size;
    },
    remember(scope, state, input) {
      const key = keyOf(scope, state);
      inputs.delete(key);
      inputs.set(key, { input, until: now() + INPUT_TTL_MS });
      for (const oldest of inputs.keys()) {
        if (inputs.size <= MAX_INPUTS) break;
        inputs.delete(oldest);
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

/** What a call asks for, whatever was answered to the server's questions meanwhile. */
export function hashCall(bytes: Buffer, params: Span): string {
  return digest(canonicalText(bytes, params, ["_meta", "inputResponses", "requestState"]));
}

function keyOf(scope: string, state: string): string {
  return digest(JSON.stringify([scope, state]));
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
