import { OPEN_ARRAY, OPEN_OBJECT } from "../../message/characters.ts";
import { cutElements, type Edit } from "../../message/edit.ts";
import type { Span } from "../../message/envelope.ts";
import { fold, isAlikeAt } from "../../message/fold.ts";
import { eachKey, listElements, readString } from "../../message/members.ts";
import { isSpelled } from "../../message/spelling.ts";
import type { NameFilter } from "./name-filter.ts";

/** What happens to links to hidden resources in the results of tools and prompts. */
export type LinkSetting = "keep" | "cut" | "block";

/** The links to hidden resources in a result: the edits that remove them, and the first of them. */
export interface HiddenLinks {
  readonly edits: readonly Edit[];
  readonly first: string;
}

/**
 * Finds links to hidden resources in the content of a result: resource links and embedded resources, in the result of a
 * tool, in the messages of a prompt, or in the result of a task. Null if there are none, "unreadable" if peers could
 * find other content in it.
 */
export function findHiddenLinks(bytes: Buffer, result: Span, filter: NameFilter): HiddenLinks | "unreadable" | null {
  const lists = listContent(bytes, result, 0);
  if (lists === null) return "unreadable";
  const uris = lists.flatMap(({ entries }) => entries.flatMap((entry) => entry.uris));
  const fates = filter.hiddenBy(uris);
  const hidden = new Set(uris.filter((_, index) => fates[index] !== null));
  const isHidden = ({ uris: own, isClear }: Entry): boolean => !isClear || own.some((uri) => hidden.has(uri));
  const cut = lists.flatMap(({ entries }) => entries.filter(isHidden));
  if (cut.length === 0) return null;
  const edits = lists.flatMap(({ elements, entries }) => cutElements(elements, (index) => isHidden(entries[index])));
  edits.sort((one, other) => one.span.start - other.span.start);
  return { edits, first: cut.flatMap((entry) => entry.uris).find((uri) => hidden.has(uri)) ?? "" };
}

/** A content element, which may be removed. */
interface Entry {
  readonly uris: readonly string[];
  /** False if some peer could find another link in it. */
  readonly isClear: boolean;
}

interface ContentList {
  readonly elements: readonly Span[];
  readonly entries: readonly Entry[];
}

/** All content lists in a value: its own, those of its messages, and those in the result of a task. */
function listContent(bytes: Buffer, value: Span, depth: number): ContentList[] | null {
  const members = pick(bytes, value, HOLDERS);
  if (members === null) return null;
  const lists: ContentList[] = [];
  const { content, messages, result } = members;
  if (content !== undefined && bytes[content.start] === OPEN_ARRAY) lists.push(readContent(bytes, content));
  if (messages !== undefined && bytes[messages.start] === OPEN_ARRAY) {
    const elements = listElements(bytes, messages);
    const inner = elements.map((message) => pick(bytes, message, HOLDERS));
    if (inner.includes(null)) return null;
    // The content of a message is one element, or a list of them. A single element is removed with its message.
    const entries = inner.map((found) => {
      const own = found?.content;
      return own === undefined || bytes[own.start] === OPEN_ARRAY ? NOTHING : readEntry(bytes, own);
    });
    lists.push({ elements, entries });
    for (const found of inner) {
      const own = found?.content;
      if (own !== undefined && bytes[own.start] === OPEN_ARRAY) lists.push(readContent(bytes, own));
    }
  }
  if (result === undefined || depth > 0) return lists;
  const further = listContent(bytes, result, depth + 1);
  return further === null ? null : [...lists, ...further];
}

function readContent(bytes: Buffer, list: Span): ContentList {
  const elements = listElements(bytes, list);
  return { elements, entries: elements.map((element) => readEntry(bytes, element)) };
}

/** The links in one content element. They count whatever `type` the element has. */
function readEntry(bytes: Buffer, element: Span): Entry {
  const own = pick(bytes, element, LINKS);
  const resource = own?.resource === undefined ? {} : pick(bytes, own.resource, LINKS);
  if (own === null || resource === null) return { uris: [], isClear: false };
  const spans = [own.uri, resource.uri].filter((span) => span !== undefined);
  const uris = spans.map((span) => readString(bytes, span));
  return { uris: uris.filter((uri) => uri !== null), isClear: !uris.includes(null) };
}

const NOTHING: Entry = { uris: [], isClear: true };

interface Keys<Key extends string> {
  readonly names: readonly Key[];
  readonly folded: ReadonlySet<string>;
}

function keys<Key extends string>(...names: Key[]): Keys<Key> {
  return { names, folded: new Set(names.map(fold)) };
}

const HOLDERS = keys("content", "messages", "result");
const LINKS = keys("uri", "resource");

/** The members with these keys. Null if a careless peer could take another key for one of them. */
function pick<Key extends string>(bytes: Buffer, span: Span, { names, folded }: Keys<Key>) {
  const found: Partial<Record<Key, Span>> = {};
  if (bytes[span.start] !== OPEN_OBJECT) return found;
  let isClear = true;
  eachKey(bytes, span, (keyStart, keyEnd, start, end) => {
    const name = names.find((one) => isSpelled(bytes, keyStart, keyEnd, one));
    if (name === undefined) isClear = !isAlikeAt(bytes, keyStart, keyEnd, folded);
    else found[name] = { start, end };
    return isClear;
  });
  return isClear ? found : null;
}
