import { COMMA, LF, CR, SPACE, TAB } from "../message/characters.ts";
import type { Span } from "../message/envelope.ts";
import type { Era } from "../message/protocol.ts";
import { MAX_CURSOR_CHARACTERS, type ToolPage } from "./tool-page.ts";

/** One tool as the server described it. `raw` is its JSON, byte for byte. */
export interface Tool {
  readonly name: string;
  readonly raw: Buffer;
}

/** What is known of a server's tools in one era, hidden ones included. What a client sees is a view of it. */
export interface Catalogue {
  /** Increases with everything learnt, so that stale views are recognized. */
  readonly version: number;
  /** Increases when the server says that its list changed. */
  readonly listVersion: number;
  /** Whether the whole list is known. */
  readonly isComplete: boolean;
  /**
   * Whether the list is over a limit. It stays unknown until the server changes it, or its first page is read again.
   */
  readonly isTooLarge: boolean;
  /** Whether the proxy may answer `tools/list` itself: the list is complete, and its `ttlMs` has not expired. */
  isFresh(): boolean;
  /** The cursor of the page after the last one learnt; null at the end, undefined before the first page. */
  readonly next: string | null | undefined;
  readonly tools: readonly Tool[];
  /** The entries that are not valid tools. They are hidden. */
  readonly faults: ToolFaults;
  /** The bytes before and after the elements in the result of the first page; null before anything is learnt. */
  readonly frame: { readonly before: Buffer; readonly after: Buffer } | null;
  /** How the server answers a call of an unknown tool: undefined before it was asked, null if it did not answer. */
  readonly refusal: Refusal | null | undefined;
}

/** The entries of a list that are not valid tools. */
export interface ToolFaults {
  readonly count: number;
  /** The first of them: the index of each in the whole list, from 0, and what is wrong with it. */
  readonly first: readonly { readonly entry: number; readonly why: string }[];
}

/** How a server answers a call of an unknown tool. */
export interface Refusal {
  /** The tool name in the proxy's request: one that does not exist. */
  readonly name: string;
  readonly kind: "result" | "error";
  /** The JSON text of the result or error. */
  readonly text: string;
}

/** A catalogue that can be changed. */
export interface CatalogueKeeper extends Catalogue {
  /** Learns a page: the response to a request for `cursor` that was sent when the list was at `listVersion`. */
  learn(bytes: Buffer, page: ToolPage, cursor: string | null | undefined, listVersion: number): void;
  /**
   * The server has no tools. If it has not declared the capability, the proxy answers `tools/list` with an empty list;
   * if it refused the request, later requests are forwarded, and the server answers them.
   */
  learnNone(because: "not-declared" | "refused"): void;
  /** The server says that its list changed: the known tools are dropped. */
  forget(): void;
  /**
   * Keeps the list as it is now; pages that pass later are not learnt. With `for-good` the list never expires or
   * changes. With `until-changed` it is kept until the server says that its list changed.
   */
  keep(how: "for-good" | "until-changed"): void;
  /** Learns how the server answers a call of an unknown tool. */
  learnRefusal(refusal: Refusal | null | undefined): void;
}

/** Limit for the tools of a list. A server could send a list that never ends. */
export const MAX_TOOLS = 10_000;
/** Limit for the bytes of a list: all tools, and the result around them. */
export const MAX_CATALOGUE_BYTES = 16 * 1024 * 1024;
/** Limit for the pages of a list. */
export const MAX_PAGES = 500;

/** How many invalid entries of a list are described; the rest are only counted. */
export const MAX_FAULTS = 10;

/** Makes an empty catalogue for an era. With `isForGood` a complete list never expires or changes. */
export function createCatalogue(
  now: () => number = () => performance.now(),
  isForGood = false,
  era: Era = "stateful",
): CatalogueKeeper {
  let kept: "no" | "until-changed" | "for-good" = "no";
  let tools: Tool[] = [];
  let faults = NO_FAULTS;
  let entries = 0; // of the pages learnt so far, valid tools or not
  let freshUntil = 0;
  let pages = 0;
  let size = 0; // in bytes

  /** Adds the tools of a page. Returns false if the list is over a limit. */
  function take(bytes: Buffer, page: ToolPage): boolean {
    if (page.next !== null && (++pages === MAX_PAGES || page.next.length > MAX_CURSOR_CHARACTERS)) return false;
    for (const { name, span, fault } of page.tools) {
      const entry = entries++;
      if (fault !== null) faults = addFault(faults, entry, fault);
      if (name === null) continue;
      size += span.end - span.start;
      if (tools.length === MAX_TOOLS || size > MAX_CATALOGUE_BYTES) return false;
      tools.push({ name, raw: copy(bytes, span) });
    }
    return true;
  }

  function setTools(next: string | null | undefined, kept: Tool[]): void {
    catalogue.next = next;
    catalogue.isComplete = next === null;
    catalogue.tools = tools = kept;
    catalogue.faults = faults;
  }

  // Plain members and no getters, because every call reads them: V8 stores an object with getters as a dictionary.
  const catalogue: { -readonly [Member in keyof CatalogueKeeper]: CatalogueKeeper[Member] } = {
    version: 0,
    listVersion: 0,
    isComplete: false,
    isTooLarge: false,
    next: undefined,
    tools,
    faults,
    frame: null,
    refusal: undefined,
    isFresh: () => catalogue.isComplete && (kept === "for-good" || now() < freshUntil),
    learn(bytes, page, cursor, asked) {
      // A response to a request from before a change may be stale. It is forwarded, but not learnt.
      if (asked !== catalogue.listVersion || cursor === undefined) return;
      if (kept !== "no") return;
      if (cursor === null) {
        tools = [];
        faults = NO_FAULTS;
        entries = 0;
        const frame = frameOf(bytes, page);
        catalogue.frame = frame;
        size = frame.before.length + frame.after.length;
        pages = 0;
        freshUntil = page.ttlMs === null ? Infinity : now() + page.ttlMs;
      } else if (cursor !== catalogue.next || catalogue.next === null) return;
      catalogue.version++;
      catalogue.isTooLarge = !take(bytes, page);
      if (catalogue.isTooLarge) {
        setTools(undefined, []); // an incomplete list is not used
        catalogue.frame = null;
      } else setTools(page.next, tools);
      if (isForGood && catalogue.isComplete) kept = "for-good";
    },
    learnNone(because) {
      if (kept !== "no") return;
      catalogue.version++;
      faults = NO_FAULTS;
      setTools(null, []);
      catalogue.frame = because === "not-declared" ? EMPTY_LISTS[era] : null;
      freshUntil = because === "not-declared" ? Infinity : 0;
      catalogue.isTooLarge = false;
      if (isForGood) kept = "for-good";
    },
    keep(how) {
      kept = how;
    },
    learnRefusal(said) {
      catalogue.refusal = said;
    },
    forget() {
      if (kept === "for-good") return;
      catalogue.version++;
      catalogue.listVersion++;
      setTools(undefined, []);
      catalogue.isTooLarge = false;
    },
  };
  return catalogue;
}

/** Makes one catalogue for each era. */
export function createCatalogues(now?: () => number, isForGood?: boolean): Record<Era, CatalogueKeeper> {
  return {
    stateful: createCatalogue(now, isForGood, "stateful"),
    stateless: createCatalogue(now, isForGood, "stateless"),
  };
}

const NO_FAULTS: ToolFaults = { count: 0, first: [] };

function addFault({ count, first }: ToolFaults, entry: number, why: string): ToolFaults {
  return { count: count + 1, first: first.length < MAX_FAULTS ? [...first, { entry, why }] : first };
}

/** The result of `tools/list` without tools. Since 2026-07-28 a result has additional required members. */
const EMPTY_LISTS: Readonly<Record<Era, NonNullable<Catalogue["frame"]>>> = {
  stateful: { before: Buffer.from('{"tools":['), after: Buffer.from("]}") },
  stateless: {
    before: Buffer.from('{"resultType":"complete","tools":['),
    after: Buffer.from('],"ttlMs":0,"cacheScope":"private"}'),
  },
};

/** The result of the first page without its tools and its cursor. The tools of all pages are put into it. */
function frameOf(bytes: Buffer, page: ToolPage): { before: Buffer; after: Buffer } {
  const before = { start: page.result.start, end: page.list.start + 1 };
  const after = { start: page.list.end - 1, end: page.result.end };
  const member = page.nextMember;
  if (member === null) return { before: copy(bytes, before), after: copy(bytes, after) };
  const cut = withComma(bytes, member);
  if (member.end <= before.end) return { before: without(bytes, before, cut), after: copy(bytes, after) };
  return { before: copy(bytes, before), after: without(bytes, after, cut) };
}

/** A member with the comma to remove with it: the one after it, or else the one before it. */
function withComma(bytes: Buffer, member: Span): Span {
  let end = member.end;
  while (isSpace(bytes[end])) end++;
  if (bytes[end] === COMMA) {
    end++;
    while (isSpace(bytes[end])) end++;
    return { start: member.start, end };
  }
  let start = member.start;
  while (isSpace(bytes[start - 1])) start--;
  return { start: bytes[start - 1] === COMMA ? start - 1 : start, end: member.end };
}

function without(bytes: Buffer, span: Span, cut: Span): Buffer {
  return Buffer.concat([bytes.subarray(span.start, cut.start), bytes.subarray(cut.end, span.end)]);
}

// A copy, because a part would keep the whole buffer in memory that the message was read into, often 64 kB.
function copy(bytes: Buffer, span: Span): Buffer {
  return Buffer.from(bytes.subarray(span.start, span.end));
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === TAB || byte === LF || byte === CR;
}
