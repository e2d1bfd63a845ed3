import { canonicalNumber } from "../message/canonical-number.ts";
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA as COMMA_BYTE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "../message/characters.ts";
import { cutElements, type Edit } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { flatten } from "../message/flatten.ts";
import { createEndFinder, type FindEnd } from "../message/ends.ts";
import { afterString, skipSpace } from "../message/members.ts";
import { readText } from "../message/text.ts";

/** A value in validated bytes. */
export interface Placed {
  readonly bytes: Buffer;
  readonly span: Span;
}

/**
 * The edits that make `value` equal to `wanted`. Equal parts keep their bytes; so does a number that the author of
 * `wanted` could only read rounded. New members are added at the end, whatever their position in `wanted`.
 */
export function follow(value: Placed, wanted: Placed): Edit[] {
  const edits: Edit[] = [];
  const [endOf, endOfWanted] = [createEndFinder(value.bytes, value.span), createEndFinder(wanted.bytes, wanted.span)];
  compare(value, wanted, edits);
  return edits;

  function compare(one: Placed, other: Placed, found: Edit[]): void {
    const kind = one.bytes[one.span.start];
    if (kind === other.bytes[other.span.start]) {
      if (kind === OPEN_OBJECT) return compareObjects(one, other, found);
      if (kind === OPEN_ARRAY) return compareArrays(one, other, found);
    }
    if (!isSameScalar(one, other)) found.push({ span: one.span, by: copy(other) });
  }

  function compareObjects(one: Placed, other: Placed, found: Edit[]): void {
    const next = new Map<string, Span>();
    for (const { key, value: span } of listMembers(other, endOfWanted)) next.set(key, span);
    const members = listMembers(one, endOf);
    const cuts = cutElements(members, (index) => !next.has(members[index].key));
    let [cut, kept] = [0, 0];
    for (const member of members) {
      while (cut < cuts.length && cuts[cut].span.start <= member.start) found.push(cuts[cut++]);
      const span = next.get(member.key);
      next.delete(member.key);
      if (span === undefined) continue;
      kept++;
      compare({ bytes: one.bytes, span: member.value }, { bytes: other.bytes, span }, found);
    }
    for (; cut < cuts.length; cut++) found.push(cuts[cut]);
    const added = Array.from(next, ([key, span]) =>
      Buffer.concat([Buffer.from(`${JSON.stringify(key)}:`), copy({ bytes: other.bytes, span })]),
    );
    append(one, members, kept, added, found);
  }

  function compareArrays(one: Placed, other: Placed, found: Edit[]): void {
    const elements = listElements(one, endOf);
    const next = listElements(other, endOfWanted);
    const kept = Math.min(elements.length, next.length);
    for (let index = 0; index < kept; index++) {
      compare({ bytes: one.bytes, span: elements[index] }, { bytes: other.bytes, span: next[index] }, found);
    }
    // The removed elements come after all kept ones, so the edits stay in order.
    for (const cut of cutElements(elements, (index) => index >= next.length)) found.push(cut);
    const added = next.slice(kept).map((span) => copy({ bytes: other.bytes, span }));
    append(one, elements, kept, added, found);
  }
}

interface Member extends Span {
  readonly key: string;
  readonly value: Span;
}

function listMembers({ bytes, span }: Placed, endOf: FindEnd): Member[] {
  const members: Member[] = [];
  for (let at = skipSpace(bytes, span.start + 1); bytes[at] !== CLOSE_OBJECT;) {
    const keyEnd = afterString(bytes, at);
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = endOf(start);
    members.push({ key: readText(bytes, at + 1, keyEnd - 1), value: { start, end }, start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA_BYTE) at = skipSpace(bytes, at + 1);
  }
  return members;
}

function listElements({ bytes, span }: Placed, endOf: FindEnd): Span[] {
  const elements: Span[] = [];
  for (let at = skipSpace(bytes, span.start + 1); bytes[at] !== CLOSE_ARRAY;) {
    const end = endOf(at);
    elements.push({ start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA_BYTE) at = skipSpace(bytes, at + 1);
  }
  return elements;
}

/** Adds new items after the last item of an object or array. */
function append({ span }: Placed, items: readonly Span[], kept: number, added: readonly Buffer[], edits: Edit[]): void {
  if (added.length === 0) return;
  const place = items.at(-1)?.end ?? span.start + 1;
  const by = Buffer.concat(added.flatMap((item, index) => (kept + index === 0 ? [item] : [COMMA, item])));
  edits.push({ span: { start: place, end: place }, by });
}

const COMMA = Buffer.from(",");

function isSameScalar(value: Placed, wanted: Placed): boolean {
  const isText = value.bytes[value.span.start] === QUOTE;
  if (isText !== (wanted.bytes[wanted.span.start] === QUOTE)) return false;
  if (isText) return textOf(value) === textOf(wanted);
  const [one, other] = [spelled(value), spelled(wanted)];
  if (one === other) return true;
  if (!NUMBER.test(one) || !NUMBER.test(other)) return false;
  const number = canonicalNumber(other);
  if (canonicalNumber(one) === number) return true;
  // Most readers parse numbers as doubles and can only return the rounded number, so it counts as unchanged.
  const rounded = Number(one);
  return Number.isFinite(rounded) && canonicalNumber(JSON.stringify(rounded)) === number;
}

const NUMBER = /^-?\d/;

function textOf({ bytes, span }: Placed): string {
  return readText(bytes, span.start + 1, span.end - 1);
}

function spelled({ bytes, span }: Placed): string {
  return bytes.toString("latin1", span.start, span.end);
}

/** A value with its spelling, on one line. */
function copy({ bytes, span }: Placed): Buffer {
  return flatten({ bytes, ...span, ascii: false });
}
