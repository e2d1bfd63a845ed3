import { fold, isAlikeAt } from "./fold.ts";
import { isSpelled } from "./spelling.ts";

/** The members whose values the scanner records. Each slot holds two numbers: start and end of the value. */
export const SLOT = {
  jsonrpc: 0,
  id: 1,
  method: 2,
  params: 3,
  result: 4,
  error: 5,
  name: 6,
  uri: 7,
  taskId: 8,
  _meta: 9,
} as const;

/** How many slots there are. */
export const SLOTS = 10;

/** A known key of the level whose value is not recorded. */
const KNOWN = -1;
/** A key that is not in the level. */
const UNKNOWN = -2;
/** A key that some peer could take for a known key. */
export const VARIANT = -3;
/** `__proto__`: some parsers read it as a member, others as the prototype. */
export const PROTOTYPE = -4;

// Longer keys at these levels are refused without a comparison: no honest peer uses them, and folding them is
// expensive.
const MAX_KEY_BYTES = 1024;

interface Entry {
  readonly bytes: Buffer;
  readonly slot: number;
}

/** The known keys of one level of a message: the six of the envelope, or those of `params`. */
export interface Level {
  /**
   * By length and first letter. A key that shares its place with another, or has escapes, is found by the slow path.
   */
  readonly index: readonly (Entry | undefined)[];
  readonly slots: ReadonlyMap<string, number>;
  readonly folded: ReadonlySet<string>;
}

/** The members of the envelope. */
export const ROOT: Level = createLevel(["jsonrpc", "id", "method", "params", "result", "error"], []);

/** The members of `params`: first those that decide what a request means, then others that are common. */
export const PARAMS: Level = createLevel(
  [
    "name",
    "uri",
    "arguments",
    "cursor",
    "_meta",
    "requestId",
    "progressToken",
    "taskId",
    "inputResponses",
    "requestState",
  ],
  [
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "level",
    "logger",
    "data",
    "progress",
    "total",
    "message",
    "messages",
    "reason",
    "ref",
    "argument",
    "context",
    "task",
    "mode",
    "url",
    "requestedSchema",
    "elicitationId",
    "modelPreferences",
    "systemPrompt",
    "includeContext",
    "temperature",
    "maxTokens",
    "stopSequences",
    "metadata",
    "tools",
    "toolChoice",
    "notifications",
  ],
);

/** The slot of a key, or one of KNOWN, UNKNOWN, VARIANT, PROTOTYPE. */
export function slotOf(level: Level, bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (length > MAX_KEY_BYTES) return VARIANT;
  const entry = level.index[(length << 5) | (bytes[start] & 31)];
  if (entry !== undefined && entry.bytes.length === length) {
    let at = 0;
    while (at < length && entry.bytes[at] === bytes[start + at]) at++;
    if (at === length) return entry.slot;
  }
  if (isSpelled(bytes, start, end, "__proto__")) return PROTOTYPE;
  if (!isAlikeAt(bytes, start, end, level.folded)) return UNKNOWN;
  for (const [name, slot] of level.slots) if (isSpelled(bytes, start, end, name)) return slot;
  return VARIANT;
}

function createLevel(guarded: readonly string[], common: readonly string[]): Level {
  const slots = new Map<string, number>();
  for (const name of guarded) slots.set(name, name in SLOT ? SLOT[name as keyof typeof SLOT] : KNOWN);
  for (const name of common) slots.set(name, KNOWN);
  const index: (Entry | undefined)[] = Array.from({ length: 32 * 32 });
  for (const [name, slot] of slots)
    index[(name.length << 5) | (name.charCodeAt(0) & 31)] ??= { bytes: Buffer.from(name), slot };
  return { index, slots, folded: new Set(guarded.map(fold)) };
}
