import { canonicalNumber } from "../message/canonical.ts";
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "../message/characters.ts";
import { cutElements, type Edit } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { flatten } from "../message/flatten.ts";
import { eachMember, listElements } from "../message/members.ts";
import { readText } from "../message/text.ts";

/** A value in bytes that have been validated. */
export interface Placed {
  readonly bytes: Buffer;
  readonly span: Span;
}

/**
 * The edits that make one value say what another says. What is the same in both keeps its bytes, also a number that the
 * other's author could only read rounded. New members come last, whatever their order in the other.
 */
export function follow(value: Placed, wanted: Placed): Edit[] {
  const edits: Edit[] = [];
  compare(value, wanted, edits);
  return edits;
}

function compare(value: Placed, wanted: Placed, edits: Edit[]): void {
  const kind = value.bytes[value.span.start];
  if (kind === wanted.bytes[wanted.span.start]) {
    if (kind === OPEN_OBJECT) return compareObjects(value, wanted, edits);
    if (kind === OPEN_ARRAY) return compareArrays(value, wanted, edits);
  }
  if (!isSameScalar(value, wanted)) edits.push({ span: value.span, by: copy(wanted) });
}

function compareObjects(value: Placed, wanted: Placed, edits: Edit[]): void {
  const next = new Map<string, Span>();
  eachMember(wanted.bytes, wanted.span, (key, span) => next.set(key, span));
  const members: (Span & { readonly key: string; readonly value: Span })[] = [];
  eachMember(value.bytes, value.span, (key, span, start) => members.push({ key, value: span, start, end: span.end }));
  const cuts = cutElements(members, (index) => !next.has(members[index].key));
  const inner: Edit[] = [];
  let kept = 0;
  for (const member of members) {
    const span = next.get(member.key);
    next.delete(member.key);
    if (span === undefined) continue;
    kept++;
    compare({ bytes: value.bytes, span: member.value }, { bytes: wanted.bytes, span }, inner);
  }
  const added = Array.from(next, ([key, span]) =>
    Buffer.concat([Buffer.from(`${JSON.stringify(key)}:`), copy({ bytes: wanted.bytes, span })]),
  );
  append(value, members, kept, added, [...cuts, ...inner], edits);
}

function compareArrays(value: Placed, wanted: Placed, edits: Edit[]): void {
  const elements = listElements(value.bytes, value.span);
  const next = listElements(wanted.bytes, wanted.span);
  const cuts = cutElements(elements, (index) => index >= next.length);
  const inner: Edit[] = [];
  const kept = Math.min(elements.length, next.length);
  for (let index = 0; index < kept; index++) {
    compare({ bytes: value.bytes, span: elements[index] }, { bytes: wanted.bytes, span: next[index] }, inner);
  }
  const added = next.slice(kept).map((span) => copy({ bytes: wanted.bytes, span }));
  append(value, elements, kept, added, [...cuts, ...inner], edits);
}

/** Puts the edits of one object or array in order, with what is added behind its last item. */
function append(
  { span }: Placed,
  items: readonly Span[],
  kept: number,
  added: readonly Buffer[],
  own: Edit[],
  edits: Edit[],
): void {
  own.sort((one, other) => one.span.start - other.span.start);
  for (const edit of own) edits.push(edit);
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
  // Who reads numbers as most do cannot give back more than this.
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

/** A value as it is spelled, on one line. */
function copy({ bytes, span }: Placed): Buffer {
  return flatten({ bytes, ...span, ascii: false });
}
