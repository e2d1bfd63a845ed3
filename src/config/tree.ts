import {
  type Event,
  EVENT_ALIAS,
  EVENT_DOCUMENT,
  EVENT_MAPPING,
  EVENT_POP,
  EVENT_SCALAR,
  EVENT_SEQUENCE,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE_DOUBLE_QUOTED,
  SCALAR_STYLE_PLAIN,
  SCALAR_STYLE_SINGLE_QUOTED,
  type ScalarEvent,
  YAMLException,
} from "js-yaml";
import type { Entry, ListNode, MapNode, Node, ScalarNode } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";
import { resolvePlain, resolveTagged } from "./scalar.ts";
import type { Range } from "./source.ts";
import { MAX_DEPTH, type Survey, survey } from "./survey.ts";
import { leaveOut, reportSyntax } from "./syntax.ts";

/** The YAML document of a page as nodes with positions. Null if the file is empty. */
export function readTree(page: Page): Node | null | Wrong {
  const events = parse(page.source.text);
  if (!(events instanceof YAMLException)) return growTree(page, events);
  const at = reportSyntax(page, events);
  // The parser stops at the first syntax error. Read the file again without the faulty part, to find mistakes in the
  // rest.
  for (const text of leaveOut(page.source.text, at)) {
    const rest = parse(text);
    if (!(rest instanceof YAMLException)) return growTree(page, rest);
  }
  return WRONG;
}

function parse(text: string): Event[] | YAMLException {
  try {
    return parseEvents(text, { maxDepth: MAX_DEPTH });
  } catch (error) {
    if (error instanceof YAMLException) return error;
    throw error;
  }
}

function growTree(page: Page, events: readonly Event[]): Node | null | Wrong {
  const found = survey(page, events);
  if (found === WRONG) return WRONG;
  // The first event opens the document, and its value follows.
  const { type } = events[1] ?? { type: EVENT_POP };
  return type === EVENT_POP ? null : grow({ ...found, page, text: page.source.text, events }, 1);
}

/** The data that nodes are created from. */
interface Ground extends Survey {
  readonly page: Page;
  readonly text: string;
  readonly events: readonly Event[];
}

/** Creates the node for the value that begins with an event. */
function grow(ground: Ground, index: number): Node {
  const event = ground.events[index];
  switch (event.type) {
    case EVENT_SCALAR:
      return growScalar(ground, event, index);
    case EVENT_MAPPING:
      return growMap(ground, event.start, index);
    case EVENT_SEQUENCE:
      return growList(ground, event.start, index);
    case EVENT_ALIAS:
      return grow(ground, ground.targets.get(index) ?? index);
    case EVENT_DOCUMENT:
    case EVENT_POP:
      throw new Error("No value begins here");
  }
}

function growMap(ground: Ground, start: number, index: number): MapNode {
  const { text, events, next } = ground;
  const entries: Entry[] = [];
  for (let at = index + 1; events[at].type !== EVENT_POP;) {
    const key = events[at];
    const after = next[at];
    if (key.type === EVENT_SCALAR) {
      const quote = quotesOf(key);
      const isThere = key.valueStart >= 0;
      entries.push({
        name: getScalarValue(text, key),
        value: grow(ground, after),
        start: isThere ? key.valueStart - quote : start,
        end: isThere ? key.valueEnd + quote : start + 1,
      });
    } else {
      const range = "start" in key ? { start: key.start, end: key.start + 1 } : { start, end: start + 1 };
      ground.page.wrong(range, "wrong-type", "A key must be text", "Write it as a single word, or in quotes");
    }
    at = next[after];
  }
  return { kind: "map", entries, start, end: start + 1 };
}

/**
 * Creates the items of a list when they are read. Thousands of rules are read one by one, and the nodes of each can be
 * collected while they are young: keeping all of them would cost more than reading them.
 */
function growList(ground: Ground, start: number, index: number): ListNode {
  const places: number[] = [];
  for (let at = index + 1; ground.events[at].type !== EVENT_POP; at = ground.next[at]) places.push(at);
  return { kind: "list", length: places.length, item: (nth) => grow(ground, places[nth]), start, end: start + 1 };
}

function growScalar(ground: Ground, event: ScalarEvent, index: number): ScalarNode {
  const text = getScalarValue(ground.text, event);
  let value: ScalarNode["value"] = event.style === SCALAR_STYLE_PLAIN ? resolvePlain(text) : text;
  if (event.tagStart >= 0) value = resolveTagged(ground.text.slice(event.tagStart, event.tagEnd), text) ?? null;
  if (event.valueStart < 0) return { kind: "scalar", value, ...findMissing(ground, index), isVerbatim: false };
  const quote = quotesOf(event);
  return {
    kind: "scalar",
    value,
    start: event.valueStart - quote,
    end: event.valueEnd + quote,
    isVerbatim: event.fast,
  };
}

function quotesOf({ style }: ScalarEvent): number {
  return style === SCALAR_STYLE_DOUBLE_QUOTED || style === SCALAR_STYLE_SINGLE_QUOTED ? 1 : 0;
}

/** The position for an empty scalar: that of the value before it, which is mostly its key. */
function findMissing({ events }: Ground, index: number): Range {
  for (let at = index - 1; at >= 0; at--) {
    const event = events[at];
    if (event.type === EVENT_SCALAR && event.valueStart >= 0) {
      return { start: event.valueStart - quotesOf(event), end: event.valueEnd + quotesOf(event) };
    }
    if ("start" in event) return { start: event.start, end: event.start + 1 };
  }
  return { start: 0, end: 0 };
}
