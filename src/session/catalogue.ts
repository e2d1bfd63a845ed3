import { COMMA, LF, CR, SPACE, TAB } from "../message/characters.ts";
import type { Span } from "../message/envelope.ts";
import type { Era } from "../message/protocol.ts";
import { MAX_CURSOR_CHARACTERS, type ToolPage } from "./tool-page.ts";

/** One tool as the server described it. `raw` is its JSON, byte for byte. */
export interface Tool {
  readonly name: string;
  readonly raw: Buffer;
}

/** What is known of a server's tools in one era. All of them, seen or hidden: what a client sees is a view. */
export interface Catalogue {
  /** Grows with everything learnt, so that views know when they are out of date. */
  readonly version: number;
  /** Grows when the server says that its list changed. */
  readonly listVersion: number;
  /** Whether the whole list is known. */
  readonly isComplete: boolean;
  /** Whether the list is more than we keep: it cannot be had until the server changes it or begins it anew. */
  readonly isTooLarge: boolean;
  /** Whether a client that asks may be answered from here: the list is whole, and the time it gave itself is not over. */
  isFresh(): boolean;
  /** The cursor of the page after the last one learnt, null at the end, undefined before the first. */
  readonly next: string | null | undefined;
  readonly tools: readonly Tool[];
  /** The entries that are not tools. They are hidden. */
  readonly faults: ToolFaults;
  /** What stands before and after the elements in the first page's result; null before anything is learnt. */
  readonly frame: { readonly before: Buffer; readonly after: Buffer } | null;
  /** What the server says of a tool that it does not have: undefined before it was asked, null where it gave no answer. */
  readonly refusal: Refusal | null | undefined;
}

/** The entries of a list that are not tools. */
export interface ToolFaults {
  readonly count: number;
  /** The first of them: where each stands in the whole list, counted from 0, and what is wrong with it. */
  readonly first: readonly { readonly entry: number; readonly why: string }[];
}

/** What a server says of a tool that it does not have. */
export interface Refusal {
  /** The name it was asked for: one that nobody has. */
  readonly name: string;
  readonly kind: "result" | "error";
  /** The JSON text of that. */
  readonly text: string;
}

/** The catalogue with what changes it. */
export interface CatalogueKeeper extends Catalogue {
  /** Takes a page that answers a request for `cursor`, sent when the list was at `listVersion`. */
  learn(bytes: Buffer, page: ToolPage, cursor: string | null | undefined, listVersion: number): void;
  /**
   * The server has no tools at all. Where it has not declared the capability, whoever asks is given an empty list; where it
   * refused to list them, whoever asks hears that from the server.
   */
  learnNone(because: "not-declared" | "refused"): void;
  /** The server says that its list changed: what is known holds no longer. */
  forget(): void;
  /**
   * What is known now holds, and is not learnt anew from what passes: for good, so that it does not grow old and nothing
   * changes it any more; or until the server says that its list changed.
   */
  keep(how: "for-good" | "until-changed"): void;
  /** The server was asked for a tool that it does not have. */
  learnRefusal(refusal: Refusal | null | undefined): void;
}

/** More tools than this are not kept: a list without end is no list. */
export const MAX_TOOLS = 10_000;
/** Nor are more bytes, of the tools and of what stands around them. */
export const MAX_CATALOGUE_BYTES = 16 * 1024 * 1024;
/** Nor more pages. */
export const MAX_PAGES = 500;

/** So many bad entries of a list are described; the rest is only counted. */
export const MAX_FAULTS = 10;

/** Makes an empty catalogue for an era. What it knows holds for good once it is whole, where that is wanted. */
export function createCatalogue(
  now: () => number = () => performance.now(),
  isForGood = false,
  era: Era = "stateful",
): CatalogueKeeper {
  let kept: "no" | "until-changed" | "for-good" = "no";
  let tools: Tool[] = [];
  let faults = NO_FAULTS;
  let entries = 0; // of the pages learnt so far, tools or not
  let freshUntil = 0;
  let pages = 0;
  let size = 0; // in bytes

  /** Takes the tools of a page. False when they are more than we keep. */
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

  // Plain members, because every call is judged by them: V8 keeps an object with getters as a dictionary.
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
      // An answer from before a change may say what no longer holds. It is shown, but not remembered.
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
        setTools(undefined, []); // half a list is no list either
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

/** One for each era. */
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

/** The result of `tools/list` where there are no tools. Since 2026-07-28 a result says more about itself. */
const EMPTY_LISTS: Readonly<Record<Era, NonNullable<Catalogue["frame"]>>> = {
  stateful: { before: Buffer.from('{"tools":['), after: Buffer.from("]}") },
  stateless: {
    before: Buffer.from('{"resultType":"complete","tools":['),
    after: Buffer.from('],"ttlMs":0,"cacheScope":"private"}'),
  },
};

/** The first page without its tools and without its cursor: what a list of all pages is put into. */
function frameOf(bytes: Buffer, page: ToolPage): { before: Buffer; after: Buffer } {
  const before = { start: page.result.start, end: page.list.start + 1 };
  const after = { start: page.list.end - 1, end: page.result.end };
  const member = page.nextMember;
  if (member === null) return { before: copy(bytes, before), after: copy(bytes, after) };
  const cut = withComma(bytes, member);
  if (member.end <= before.end) return { before: without(bytes, before, cut), after: copy(bytes, after) };
  return { before: copy(bytes, before), after: without(bytes, after, cut) };
}

/** A member with the one comma that goes when it goes: the one after it, or else the one before. */
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

// A copy, because the bytes of a message are a window on what was read with it, often 64 kB.
function copy(bytes: Buffer, span: Span): Buffer {
  return Buffer.from(bytes.subarray(span.start, span.end));
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === TAB || byte === LF || byte === CR;
}
