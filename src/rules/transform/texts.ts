import { BACKSLASH } from "../../message/characters.ts";
import { META_PREFIX } from "../../message/protocol.ts";
import { eachText } from "../../message/each-text.ts";
import type { Edit } from "../../message/edit.ts";
import type { Span } from "../../message/envelope.ts";
import { readText } from "../../message/text.ts";
import { beginWork, spend, walkSteps, type Work } from "../work.ts";

/**
 * Returns the new text. `key` is the name of the member that has the text as its value; null for an array element and
 * for a member name. `work` counts the cost for the message: a change that costs more than one pass over the characters
 * adds to it.
 */
export type TextChange = (text: string, key: string | null, work?: Work) => string;

/** Which texts are changed. */
export interface TextOptions {
  /** Whether the names of members are changed too. */
  readonly keys: boolean;
  /**
   * Whether the value is a whole body. If so, values that peers only return to each other, such as cursors, are kept.
   */
  readonly isBody: boolean;
}

/**
 * The edits that change the texts in a value. Strings are decoded first, so that escapes hide nothing, and only changed
 * strings are written again.
 */
export function editTexts(
  bytes: Buffer,
  span: Span,
  { keys, isBody }: TextOptions,
  change: TextChange,
  work: Work = beginWork(),
): Edit[] {
  const edits: Edit[] = [];
  spend(work, walkSteps(span.end - span.start));
  const renamed = new Map<string, number>();
  let key: string | null = null;
  let inMeta = false;
  eachText(bytes, span, ({ start, end, isKey, depth }) => {
    const text = read(bytes, start, end);
    spend(work, STEPS_PER_TEXT + ((end - start) >> 1));
    if (isKey) {
      key = text;
      if (depth === 1) inMeta = text === "_meta";
      if (isBody && isHandle(text, depth, inMeta)) return false;
      if (!keys) return true;
    }
    let next = change(text, isKey ? null : key, work);
    if (!isKey) key = null;
    if (next === text) return true;
    // Two member names that became equal would make the message invalid.
    if (isKey) next = number(renamed, next);
    edits.push({ span: { start, end }, by: Buffer.from(JSON.stringify(next)) });
    return true;
  });
  return edits;
}

/** The cost of starting with a text of any length. */
const STEPS_PER_TEXT = 20;

function read(bytes: Buffer, start: number, end: number): string {
  // Escapes are rare, and `readText` looks at every byte. For a long string, `includes` is a faster check.
  if (end - start < 200) return readText(bytes, start + 1, end - 1);
  const inner = bytes.subarray(start + 1, end - 1);
  return inner.includes(BACKSLASH) ? readText(bytes, start + 1, end - 1) : inner.toString("utf8");
}

/**
 * Whether a member is an opaque value that the other peer has to return unchanged. A changed one would be invalid or
 * mean something else.
 */
function isHandle(key: string, depth: number, inMeta: boolean): boolean {
  if (depth === 1) return HANDLES.has(key);
  return depth === 2 && inMeta && (key === "progressToken" || key.startsWith(META_PREFIX));
}

const HANDLES = new Set(["requestState", "cursor", "nextCursor", "taskId", "progressToken", "requestId", "resultType"]);

function number(renamed: Map<string, number>, key: string): string {
  const count = (renamed.get(key) ?? 0) + 1;
  renamed.set(key, count);
  return count === 1 ? key : `${key} ${count}`;
}
