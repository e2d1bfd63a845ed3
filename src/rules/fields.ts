import { CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "../message/characters.ts";
import type { Span } from "../message/envelope.ts";
import { afterString, eachElement, eachKey, endOfValue, skipSpace } from "../message/members.ts";
import { hashString, isSpelled } from "../message/spelling.ts";
import { readText } from "../message/text.ts";
import { type FieldStep, indexByHash, isKey } from "./field-keys.ts";
import { type Decimal, readDecimal } from "./numbers.ts";
import { readPlace, type Reading } from "../text/path-readings.ts";
import type { Field } from "../message/field.ts";
import { beginWork, spend, walkSteps, type Work } from "./work.ts";

/** A part of a message: where one of its values stands, and in which bytes. */
export interface Part extends Span {
  readonly bytes: Buffer;
}

/** What a value is. */
export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

/** The ways that the rules of one policy know. */
export interface FieldTable {
  /** The last step of a way. */
  intern(field: Field): FieldStep;
}

/** Makes a table without ways. */
export function createFieldTable(): FieldTable {
  const beginning: FieldStep = {
    from: null,
    step: "",
    key: "",
    bytes: Buffer.alloc(0),
    index: 0,
    next: [],
    byHash: null,
  };
  let size = 1;
  return {
    intern({ steps }) {
      let last = beginning;
      for (const step of steps) {
        let known = last.next.find((one) => one.step === step);
        if (known === undefined) {
          known = {
            from: last,
            step,
            key: String(step),
            bytes: Buffer.from(String(step)),
            index: size++,
            next: [],
            byHash: null,
          };
          last.next.push(known);
        }
        last = known;
      }
      return last;
    },
  };
}

/**
 * A value that has been looked up. Where it ends and what is made of it is found out once, by
 * whoever needs it first: undefined until then, and null where it cannot be made.
 */
export interface Seen {
  readonly bytes: Buffer;
  readonly start: number;
  end: number | undefined;
  text: string | null | undefined;
  decimal: Decimal | null | undefined;
  readings: readonly Reading[] | null | undefined;
}

/** What has been looked up in one part of a message while it is judged, by the number of the step that led there. */
export interface FieldMemo {
  readonly bytes: Buffer;
  readonly seen: (Seen | null | undefined)[];
  readonly work: Work;
  /** How often members of an object were looked up one by one, by the number of the step that led to it. */
  alone: number[] | null;
}

/** Begins to look into a part of a message. The bytes have been validated. */
export function createFieldMemo({ bytes, start, end }: Part, work: Work = beginWork()): FieldMemo {
  return { bytes, seen: [see(bytes, start, end)], work, alone: null };
}

/** The value at the end of a way, or null. Nothing is looked up twice. */
export function lookUp(memo: FieldMemo, step: FieldStep): Seen | null {
  const known = memo.seen[step.index];
  if (known !== undefined || step.from === null) return known ?? null;
  const inside = lookUp(memo, step.from);
  const first = inside === null ? 0 : memo.bytes[inside.start];
  if (inside !== null && first === OPEN_OBJECT) {
    const { next } = step.from;
    if (next.length > MAX_TOGETHER) lookUpOneOfMany(memo, inside.start, step, step.from);
    else lookUpMembers(memo, inside.start, next);
    return memo.seen[step.index] ?? null;
  }
  // A number is an index where it meets an array and a key where it meets an object: `0` is both in
  // a JSON Pointer. A text never is an index.
  const isIndex = inside !== null && first === OPEN_ARRAY && typeof step.step === "number";
  return note(memo, step, isIndex ? findIndex(memo, inside, step.step) : null);
}

/** Where rules know more ways on from an object, most are not those of this message. */
const MAX_TOGETHER = 16;

/** So many are looked up one by one. Then all are, in one go: each goes through the whole object, which may be large. */
const MAX_ALONE = 2;
const ALL = -1;

function lookUpOneOfMany(memo: FieldMemo, start: number, step: FieldStep, from: FieldStep): void {
  const alone = (memo.alone ??= []);
  const before = alone[from.index] ?? 0;
  if (before === ALL) note(memo, step, null);
  else if (before < MAX_ALONE) {
    alone[from.index] = before + 1;
    lookUpMembers(memo, start, [step]);
  } else {
    alone[from.index] = ALL;
    lookUpAll(memo, start, from);
    memo.seen[step.index] ??= null;
  }
}

/** Goes through an object once, for all that anybody will look for in it. */
function lookUpMembers(memo: FieldMemo, start: number, steps: readonly FieldStep[]): void {
  const { bytes, work } = memo;
  for (const step of steps) note(memo, step, null);
  let missing = steps.length;
  let at = skipSpace(bytes, start + 1);
  while (bytes[at] !== CLOSE_OBJECT) {
    const keyEnd = afterString(bytes, at);
    const begins = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    let member: Seen | null = null;
    for (const step of steps) {
      if (!isKey(bytes, at + 1, keyEnd - 1, step)) continue;
      member ??= see(bytes, begins, undefined);
      note(memo, step, member);
      // No key stands twice: the scanner has seen to it.
      if (--missing === 0) return spend(work, walkSteps(begins - start));
    }
    const ends = endOfValue(bytes, begins);
    if (member !== null) member.end = ends;
    at = skipSpace(bytes, ends);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  spend(work, walkSteps(at - start));
}

/** The same for many: what is found is noted, and what is not found is not. */
function lookUpAll(memo: FieldMemo, start: number, from: FieldStep): void {
  const { bytes, work } = memo;
  from.byHash ??= indexByHash(from.next);
  let end = start;
  eachKey(bytes, { start, end: start }, (keyStart, keyEnd, begins, ends) => {
    const hash = hashString(bytes, keyStart, keyEnd, 0);
    const steps = hash === undefined ? undefined : from.byHash?.get(hash);
    if (steps !== undefined)
      for (const step of steps)
        if (isSpelled(bytes, keyStart, keyEnd, step.key)) memo.seen[step.index] ??= see(bytes, begins, ends);
    end = ends;
    return true;
  });
  spend(work, 2 * walkSteps(end - start));
}

function note({ seen }: FieldMemo, { index }: FieldStep, value: Seen | null): Seen | null {
  seen[index] = value;
  return value;
}

function findIndex({ bytes, work }: FieldMemo, { start }: Seen, index: number): Seen | null {
  if (!Number.isInteger(index) || index < 0) return null;
  let nth = 0;
  let last = start;
  let found: Seen | null = null;
  eachElement(bytes, { start, end: start }, (begins, ends) => {
    last = ends;
    if (nth++ < index) return true;
    found = see(bytes, begins, ends);
    return false;
  });
  spend(work, walkSteps(last - start));
  return found;
}

function see(bytes: Buffer, start: number, end: number | undefined): Seen {
  return { bytes, start, end, text: undefined, decimal: undefined, readings: undefined };
}

/** Where a value that has been looked up stands. */
export function spanOf(seen: Seen): Span {
  return { start: seen.start, end: endOf(seen) };
}

function endOf(seen: Seen): number {
  return (seen.end ??= endOfValue(seen.bytes, seen.start));
}

/** The text of a string that has been looked up; null where it is something else. */
export function textOf(seen: Seen): string | null {
  if (seen.text === undefined) {
    const { bytes, start } = seen;
    seen.text = bytes[start] === QUOTE ? readText(bytes, start + 1, endOf(seen) - 1) : null;
  }
  return seen.text;
}

/** The value of a number that has been looked up; null where it is something else. */
export function decimalIn(seen: Seen): Decimal | null {
  if (seen.decimal === undefined) {
    const { bytes, start } = seen;
    const isNumber = kindAt(bytes, start) === "number";
    seen.decimal = isNumber ? readDecimal(bytes.toString("latin1", start, endOf(seen))) : null;
  }
  return seen.decimal;
}

/** All readings of a path or URI that has been looked up; null where it is none, or cannot be resolved. */
export function readingsOf(seen: Seen): readonly Reading[] | null {
  if (seen.readings === undefined) {
    const text = textOf(seen);
    seen.readings = text === null ? null : readPlace(text);
  }
  return seen.readings;
}

/** The elements of a list that has been looked up: as many as that, and one more where there are more. */
export function elementsOf(seen: Seen, count: number): Seen[] {
  const elements: Seen[] = [];
  eachElement(seen.bytes, { start: seen.start, end: seen.start }, (start, end) => {
    elements.push(see(seen.bytes, start, end));
    return elements.length <= count;
  });
  return elements;
}

/** The place a field leads to from this value, or null. The same without a memory. */
export function findField(part: Part, field: Field, work: Work = beginWork()): Span | null {
  const seen = lookUp(createFieldMemo(part, work), createFieldTable().intern(field));
  return seen === null ? null : spanOf(seen);
}

/** What the value that begins here is. */
export function kindAt(bytes: Buffer, start: number): Kind {
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
export function numberAt(bytes: Buffer, { start, end }: Span): string | null {
  return kindAt(bytes, start) === "number" ? bytes.toString("latin1", start, end) : null;
}
