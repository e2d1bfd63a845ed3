import { BACKSLASH, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "../../message/characters.ts";
import type { Span } from "../../message/envelope.ts";
import { eachElement } from "../../message/members.ts";
import { readText } from "../../message/text.ts";
import type { Field } from "./rule.ts";
import { skipSpace, skipString, skipValue } from "./skip.ts";

/** A part of a message: where one of its values stands, and in which bytes. */
export interface Part extends Span {
  readonly bytes: Buffer;
}

/** What a value is. */
export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

/**
 * One step of a way into a message. Ways that begin alike share their first steps, so that what
 * several rules look at is looked up once.
 */
export interface FieldStep {
  readonly from: FieldStep | null;
  readonly step: string | number;
  /** The step as a key, in UTF-8. */
  readonly key: Buffer;
}

/** The ways that the rules of one policy know. */
export interface FieldTable {
  /** The last step of a way; null for the way that leads nowhere, which is the whole. */
  intern(field: Field): FieldStep | null;
}

/** Makes a table without ways. */
export function createFieldTable(): FieldTable {
  const first: Branch = { next: new Map() };
  return {
    intern({ steps }) {
      let branch = first;
      let last: FieldStep | null = null;
      for (const step of steps) {
        let known = branch.next.get(step);
        if (known === undefined) {
          known = { next: new Map(), step: { from: last, step, key: Buffer.from(String(step)) } };
          branch.next.set(step, known);
        }
        branch = known;
        last = known.step;
      }
      return last;
    },
  };
}

interface Branch {
  readonly next: Map<string | number, Branch & { readonly step: FieldStep }>;
}

/** What has been looked up in one part of a message while it is judged. */
export interface FieldMemo {
  /** Where the value at the end of a way stands, or null. */
  find(step: FieldStep | null): Span | null;
  /** The text of the string that stands there; null where it is something else, or nothing. */
  text(step: FieldStep | null): string | null;
}

/** Looks into a part of a message, and at nothing twice. The bytes have been validated. */
export function createFieldMemo(part: Part): FieldMemo {
  const found = new Map<FieldStep, Span | null>();
  const find = (step: FieldStep | null): Span | null => {
    if (step === null) return part;
    const known = found.get(step);
    if (known !== undefined) return known;
    const inside = find(step.from);
    const span = inside === null ? null : follow(part.bytes, inside, step);
    found.set(step, span);
    return span;
  };
  const texts = new Map<FieldStep | null, string | null>();
  return {
    find,
    text(step) {
      const known = texts.get(step);
      if (known !== undefined) return known;
      const span = find(step);
      const text = span === null ? null : textAt(part.bytes, span);
      texts.set(step, text);
      return text;
    },
  };
}

/** The place a field leads to from this value, or null. The same without a memory. */
export function findField(bytes: Buffer, span: Span, { steps }: Field): Span | null {
  let at: Span | null = span;
  for (const step of steps) {
    if (at === null) return null;
    at = follow(bytes, at, { from: null, step, key: Buffer.from(String(step)) });
  }
  return at;
}

/**
 * One step from a value to what is in it. A number is an index where it meets an array and a key
 * where it meets an object: `0` is both in a JSON Pointer. A text never is an index.
 */
function follow(bytes: Buffer, span: Span, { step, key }: FieldStep): Span | null {
  const first = bytes[span.start];
  if (first === OPEN_OBJECT) return findKey(bytes, span, key);
  return first === OPEN_ARRAY && typeof step === "number" ? findIndex(bytes, span, step) : null;
}

/** The value of the member with this key. The scanner has seen to it that there is only one. */
function findKey(bytes: Buffer, span: Span, key: Buffer): Span | null {
  let at = skipSpace(bytes, span.start + 1);
  while (bytes[at] !== CLOSE_OBJECT) {
    const keyEnd = skipString(bytes, at);
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    if (isKey(bytes, at + 1, keyEnd - 1, key)) return { start, end: skipValue(bytes, start) };
    at = skipSpace(bytes, skipValue(bytes, start));
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return null;
}

/** Whether this text stands between two places, by its bytes or spelled with escapes. */
function isKey(bytes: Buffer, start: number, end: number, key: Buffer): boolean {
  const length = key.length;
  let same = 0;
  while (same < length && bytes[start + same] === key[same]) same++;
  if (same === length && end - start === length) return true;
  // An escape is longer than what it stands for.
  if (end - start <= length) return false;
  return bytes.subarray(start + same, end).includes(BACKSLASH) && readText(bytes, start, end) === key.toString();
}

function findIndex(bytes: Buffer, span: Span, index: number): Span | null {
  if (!Number.isInteger(index) || index < 0) return null;
  let nth = 0;
  let found: Span | null = null;
  eachElement(bytes, span, (start, end) => {
    if (nth++ < index) return true;
    found = { start, end };
    return false;
  });
  return found;
}

/** What the value at this place is. */
export function kindAt(bytes: Buffer, { start }: Span): Kind {
  switch (bytes[start]) {
    case OPEN_OBJECT:
      return "object";
    case OPEN_ARRAY:
      return "array";
    case QUOTE:
      return "string";
    case 0x6e:
      return "null";
    case 0x74:
    case 0x66:
      return "boolean";
    default:
      return "number";
  }
}

/** The text of the string at this place, or null when it is something else. */
export function textAt(bytes: Buffer, { start, end }: Span): string | null {
  return bytes[start] === QUOTE ? readText(bytes, start + 1, end - 1) : null;
}

/** The number at this place as it is spelled, or null when it is something else. */
export function numberAt(bytes: Buffer, span: Span): string | null {
  return kindAt(bytes, span) === "number" ? bytes.toString("latin1", span.start, span.end) : null;
}
