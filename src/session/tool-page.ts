import { OPEN_ARRAY, OPEN_OBJECT } from "../message/characters.ts";
import { MAX_NAME_CHARACTERS, type Span } from "../message/envelope.ts";
import { fold, isAlike } from "../message/fold.ts";
import { eachMember, findMember, listElements, readString } from "../message/members.ts";
import { isText } from "../message/text.ts";

/** One entry of a tool list. */
export interface ListedTool {
  /** Null where the entry is no tool: without a name that is text, or with an input schema that is no object. */
  readonly name: string | null;
  readonly span: Span;
}

/** One page of a tool list, as it stands in its answer. */
export interface ToolPage {
  readonly tools: readonly ListedTool[];
  /** The whole result, and the array in it. */
  readonly result: Span;
  readonly list: Span;
  /** How long the list may be kept, where it says so: those of 2026-07-28 must. */
  readonly ttlMs: number | null;
  /** The cursor of the next page; null on the last one. The empty text is a cursor. */
  readonly next: string | null;
  /** The member `nextCursor`, key and value, where it is there. */
  readonly nextMember: Span | null;
}

/** Reads the result of `tools/list`. Undefined where it is no list, or one that peers may read differently. */
export function readToolPage(bytes: Buffer, result: Span): ToolPage | undefined {
  if (bytes[result.start] !== OPEN_OBJECT) return undefined;
  let list: Span | null = null;
  let cursor: Span | null = null;
  let nextMember: Span | null = null;
  let ttlMs: number | null = null;
  let doubtful = false;
  eachMember(bytes, result, (key, value, begins) => {
    if (key === "tools") list = value;
    else if (key === "nextCursor") {
      cursor = value;
      nextMember = { start: begins, end: value.end };
    } else if (key === "ttlMs") ttlMs = Number(bytes.toString("latin1", value.start, value.end)) || 0;
    else if (isVariant(key, RESULT_KEYS)) doubtful = true;
  });
  if (doubtful || list === null || bytes[(list as Span).start] !== OPEN_ARRAY) return undefined;
  const next = readString(bytes, cursor);
  if (cursor !== null && next === null && bytes[(cursor as Span).start] !== NULL) return undefined;
  const tools: ListedTool[] = [];
  for (const span of listElements(bytes, list)) {
    if (bytes[span.start] !== OPEN_OBJECT) return undefined;
    const name = readToolName(bytes, span);
    if (name === undefined) return undefined;
    tools.push({ name, span });
  }
  return { tools, result, list, next, nextMember, ttlMs };
}

/** The name of one entry, null where it is no tool, undefined where peers may read it differently. */
function readToolName(bytes: Buffer, span: Span): string | null | undefined {
  let name: string | null = null;
  let hasSchema = false;
  let doubtful = false;
  eachMember(bytes, span, (key, value) => {
    if (key === "name") name = readString(bytes, value);
    else if (key === "inputSchema") hasSchema = bytes[value.start] === OPEN_OBJECT;
    else if (isVariant(key, TOOL_KEYS)) doubtful = true;
  });
  if (doubtful) return undefined;
  if (name === null || !hasSchema) return null;
  const text: string = name;
  // Longer ones are no names: patterns are not run on them, and they cannot be called.
  return text.length <= MAX_NAME_CHARACTERS && text.isWellFormed() ? text : null;
}

const RESULT_KEYS = new Set(["tools", "nextCursor"].map(fold));
const TOOL_KEYS = new Set(["name", "inputSchema"].map(fold));
const NULL = "n".charCodeAt(0);

function isVariant(key: string, folded: ReadonlySet<string>): boolean {
  return key.length > MAX_NAME_CHARACTERS || isAlike(key, folded);
}

/** A page behind a longer cursor is not followed. */
export const MAX_CURSOR_CHARACTERS = 4096;

/** Null where there is none, undefined where it is no text, or more than is kept. */
export function readCursor(bytes: Buffer, params: Span): string | null | undefined {
  const cursor = findMember(bytes, params, "cursor");
  if (cursor === null || isText(bytes, cursor.start, cursor.end, "null")) return null;
  const text = readString(bytes, cursor);
  return text === null || text.length > MAX_CURSOR_CHARACTERS ? undefined : text;
}

/** Whether a list is refused because there is no such method. */
export function isNotFound(bytes: Buffer, error: Span): boolean {
  const code = findMember(bytes, error, "code");
  return code !== null && isText(bytes, code.start, code.end, "-32601");
}
