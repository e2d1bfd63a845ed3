import { BACKSLASH } from "../../message/characters.ts";
import { META_PREFIX } from "../../message/protocol.ts";
import { eachText } from "../../message/each-text.ts";
import type { Edit } from "../../message/edit.ts";
import type { Span } from "../../message/envelope.ts";
import { readText } from "../../message/text.ts";
import { beginWork, spend, walkSteps, type Work } from "../work.ts";

/**
 * What becomes of a text. `key` is the name of the member whose value it is, null for an element and for a key. `work` is
 * what has been spent on the message: what costs more than a look at each character is added to it.
 */
export type TextChange = (text: string, key: string | null, work?: Work) => string;

/** How texts are changed. */
export interface TextOptions {
  /** Whether the names of members are texts, too. */
  readonly keys: boolean;
  /** Whether this value is a whole body: then what peers only hand back to each other is left alone. */
  readonly isBody: boolean;
}

/**
 * The edits that change the texts in a value. Strings are decoded first, so that an escape hides nothing, and only those
 * that change are written anew.
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
    // Two names that are alike now would make a message that nobody can read.
    if (isKey) next = number(renamed, next);
    edits.push({ span: { start, end }, by: Buffer.from(JSON.stringify(next)) });
    return true;
  });
  return edits;
}

/** What it costs to begin with a text, however short it is. */
const STEPS_PER_TEXT = 20;

function read(bytes: Buffer, start: number, end: number): string {
  // Escapes are rare, and their reader looks at each byte. In a long string there is a quicker way to find none.
  if (end - start < 200) return readText(bytes, start + 1, end - 1);
  const inner = bytes.subarray(start + 1, end - 1);
  return inner.includes(BACKSLASH) ? readText(bytes, start + 1, end - 1) : inner.toString("utf8");
}

/** What one peer gives the other to be given back as it is. Changed, it would be worthless or mean another thing. */
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
