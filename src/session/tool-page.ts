import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "../message/characters.ts";
import { MAX_NAME_CHARACTERS, type Span } from "../message/envelope.ts";
import { fold, isAlike } from "../message/fold.ts";
import { eachMember, findMember, listElements, readString } from "../message/members.ts";
import { isText, showText } from "../message/text.ts";

/** One entry of a tool list. */
export interface ListedTool {
  /** Null if the entry is not a valid tool. */
  readonly name: string | null;
  readonly span: Span;
  /** Why the entry is not a valid tool; null if it is one. */
  readonly fault: string | null;
}

/** One page of a tool list, with its spans in the response. */
export interface ToolPage {
  readonly tools: readonly ListedTool[];
  /** The spans of the whole result and of the array in it. */
  readonly result: Span;
  readonly list: Span;
  /** How long the list may be cached, if it says so. Since 2026-07-28 it must. */
  readonly ttlMs: number | null;
  /** The cursor of the next page; null on the last page. An empty string is a valid cursor. */
  readonly next: string | null;
  /** The span of the member `nextCursor`, key and value, if there is one. */
  readonly nextMember: Span | null;
}

/** Reads the result of `tools/list`. Undefined if it is not a list, or if peers may read it differently. */
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
    const entry = readEntry(bytes, span);
    if (entry === undefined) return undefined;
    tools.push(entry);
  }
  return { tools, result, list, next, nextMember, ttlMs };
}

/** Reads one entry. Undefined if peers may read it differently. */
function readEntry(bytes: Buffer, span: Span): ListedTool | undefined {
  const bad = (fault: string): ListedTool => ({ name: null, span, fault });
  // Some peers might take a string for the name of a tool, or an array for several tools.
  if (bytes[span.start] === QUOTE || bytes[span.start] === OPEN_ARRAY) return undefined;
  if (bytes[span.start] !== OPEN_OBJECT) return bad("it is not an object");
  let name: string | null = null;
  let hasSchema = false;
  let doubtful = false;
  eachMember(bytes, span, (key, value) => {
    if (key === "name") name = readString(bytes, value);
    else if (key === "inputSchema") hasSchema = bytes[value.start] === OPEN_OBJECT;
    else if (isVariant(key, TOOL_KEYS)) doubtful = true;
  });
  if (doubtful) return undefined;
  if (name === null) return bad("its name is missing or is not text");
  const text: string = name;
  // Patterns are not run on longer names, and tools with such names cannot be called.
  if (text.length > MAX_NAME_CHARACTERS) return bad(`its name has more than ${MAX_NAME_CHARACTERS} characters`);
  if (!text.isWellFormed()) return bad("its name is not valid Unicode");
  return hasSchema ? { name: text, span, fault: null } : bad(`inputSchema of ${showText(text, 60)} is not an object`);
}

const RESULT_KEYS = new Set(["tools", "nextCursor"].map(fold));
const TOOL_KEYS = new Set(["name", "inputSchema"].map(fold));
const NULL = "n".charCodeAt(0);

function isVariant(key: string, folded: ReadonlySet<string>): boolean {
  return key.length > MAX_NAME_CHARACTERS || isAlike(key, folded);
}

/** Pages with longer cursors are not requested. */
export const MAX_CURSOR_CHARACTERS = 4096;

/** Reads the cursor of a list request. Null if there is none, undefined if it is not a string or too long to keep. */
export function readCursor(bytes: Buffer, params: Span): string | null | undefined {
  const cursor = findMember(bytes, params, "cursor");
  if (cursor === null || isText(bytes, cursor.start, cursor.end, "null")) return null;
  const text = readString(bytes, cursor);
  return text === null || text.length > MAX_CURSOR_CHARACTERS ? undefined : text;
}

/** Whether an error says that the server does not have the method. */
export function isNotFound(bytes: Buffer, error: Span): boolean {
  const code = findMember(bytes, error, "code");
  return code !== null && isText(bytes, code.start, code.end, "-32601");
}
