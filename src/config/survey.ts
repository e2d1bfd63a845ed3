import {
  type Event,
  EVENT_ALIAS,
  EVENT_DOCUMENT,
  EVENT_MAPPING,
  EVENT_POP,
  EVENT_SCALAR,
  EVENT_SEQUENCE,
  getScalarValue,
} from "js-yaml";
import { type Page, WRONG, type Wrong } from "./page.ts";
import { resolveTagged } from "./scalar.ts";
import type { Range } from "./source.ts";

/** The deepest nesting, aliases included. */
export const MAX_DEPTH = 64;

/** How many values all aliases together may stand for. */
const MAX_ALIASED_VALUES = 100_000;

/** What is found out about the events of a file before nodes are created from them. */
export interface Survey {
  /** For each event that begins a value, the index of the event after that value. */
  readonly next: Int32Array;
  /** The index of the target event, by the index of the alias. */
  readonly targets: ReadonlyMap<number, number>;
}

/** Walks over the events once: finds where values end, and refuses unlimited aliases and unknown tags. */
export function survey(page: Page, events: readonly Event[]): Survey | Wrong {
  const next = new Int32Array(events.length);
  const open: number[] = [];
  let isPlain = true;
  for (let index = 0; index < events.length; index++) {
    const event = events[index];
    switch (event.type) {
      case EVENT_DOCUMENT:
        if (index > 0) return refuse(page, atEnd(page), "There is a second document", "Keep one in the file");
        open.push(index);
        break;
      case EVENT_POP:
        next[open.pop() ?? 0] = index + 1;
        break;
      case EVENT_ALIAS:
        next[index] = index + 1;
        isPlain = false;
        break;
      case EVENT_SCALAR:
        next[index] = index + 1;
        if (event.tagStart >= 0) isPlain = false;
        break;
      case EVENT_SEQUENCE:
      case EVENT_MAPPING:
        open.push(index);
        if (event.tagStart >= 0) isPlain = false;
        break;
    }
  }
  const targets = isPlain ? new Map<number, number>() : findTargets(page, events);
  return targets === WRONG ? WRONG : { next, targets };
}

/** The target of an alias. */
interface Anchored {
  readonly index: number;
  /** How many values it has, itself included, and how deep they are nested. */
  readonly size: number;
  readonly height: number;
}

/** Resolves aliases and checks tags. Few files have any. */
function findTargets(page: Page, events: readonly Event[]): Map<number, number> | Wrong {
  const { text } = page.source;
  const targets = new Map<number, number>();
  const anchors = new Map<string, Anchored | null>();
  const open: { readonly index: number; readonly anchor: string | null; readonly before: number; height: number }[] =
    [];
  let count = 0;
  let aliased = 0;
  const raise = (height: number): void => {
    const owner = open.at(-1);
    if (owner !== undefined && owner.height <= height) owner.height = height + 1;
  };

  for (let index = 1; index < events.length; index++) {
    const event = events[index];
    if (event.type === EVENT_POP) {
      const closed = open.pop();
      if (closed === undefined) continue;
      raise(closed.height);
      const { anchor, before, height } = closed;
      if (anchor !== null) anchors.set(anchor, { index: closed.index, size: count - before, height });
    } else if (event.type === EVENT_ALIAS) {
      const range = { start: event.anchorStart - 1, end: event.anchorEnd };
      const name = text.slice(event.anchorStart, event.anchorEnd);
      const target = anchors.get(name);
      if (target === undefined) return refuse(page, range, `There is no anchor &${name} before this`);
      if (target === null) return refuse(page, range, `The alias *${name} refers to a value that contains it`);
      targets.set(index, target.index);
      aliased += target.size;
      count += target.size;
      raise(target.height);
      if (aliased > MAX_ALIASED_VALUES) {
        const message = `Aliases stand for more than ${MAX_ALIASED_VALUES} values`;
        return page.wrong(range, "too-many-aliases", message, "Write the values without aliases, or use fewer of them");
      }
      if (open.length + target.height > MAX_DEPTH) {
        return page.wrong(range, "too-deep", `Nested more than ${MAX_DEPTH} levels deep`, "Make it flatter");
      }
    } else if (event.type !== EVENT_DOCUMENT) {
      const anchor = event.anchorStart < 0 ? null : text.slice(event.anchorStart, event.anchorEnd);
      const isScalar = event.type === EVENT_SCALAR;
      if (anchor !== null) anchors.set(anchor, isScalar ? { index, size: 1, height: 0 } : null);
      if (!isScalar) open.push({ index, anchor, before: count, height: 0 });
      count++;
      if (event.tagStart < 0) continue;
      const tag = { start: event.tagStart, end: event.tagEnd };
      const shown = text.slice(tag.start, tag.end);
      const isKnown = isScalar
        ? resolveTagged(shown, getScalarValue(text, event)) !== undefined
        : shown === (event.type === EVENT_MAPPING ? "!!map" : "!!seq");
      if (isKnown) continue;
      return refuse(
        page,
        tag,
        `The tag ${page.source.quote(tag)} is not supported here`,
        "Take it out; text goes in quotes",
      );
    }
  }
  return targets;
}

function atEnd(page: Page): Range {
  const { length } = page.source.text;
  return { start: length, end: length };
}

function refuse(page: Page, range: Range, message: string, suggestion: string | null = null): Wrong {
  return page.wrong(range, "syntax", message, suggestion);
}
