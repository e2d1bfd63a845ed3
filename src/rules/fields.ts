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

/** A part of a message: the span of one value, and the bytes that it is in. */
export interface Part extends Span {
  readonly bytes: Buffer;
}

/** The JSON type of a value. */
export type Kind = "object" | "array" | "string" | "number" | "boolean" | "null";

/** All paths that the rules of one policy use. */
export interface FieldTable {
  /** Adds a path if it is new, and returns its last step. */
  intern(field: Field): FieldStep;
}

/** Creates an empty table. */
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
 * A value that has been looked up. Its end and its conversions are computed once, when first needed: undefined until
 * then, and null if the value has another type.
 */
export interface Seen {
  readonly bytes: Buffer;
  readonly start: number;
  end: number | undefined;
  text: string | null | undefined;
  decimal: Decimal | null | undefined;
  readings: readonly Reading[] | null | undefined;
}

/** The values looked up in one part of a message while it is judged, by the index of the step that leads to each. */
export interface FieldMemo {
  readonly bytes: Buffer;
  readonly seen: (Seen | null | undefined)[];
  readonly work: Work;
  /** How many single members of an object were looked up, by the index of the step that leads to the object. */
  alone: number[] | null;
}

/** Starts lookups in a part of a message. The bytes must have been validated. */
export function createFieldMemo({ bytes, start, end }: Part, work: Work = beginWork()): FieldMemo {
  return { bytes, seen: [see(bytes, start, end)], work, alone: null };
}

/** The value at the end of a path, or null. No value is looked up twice. */
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
  // A number is an index in an array and a key in an object: in a JSON Pointer, `0` can be either. A string is never an
  // index.
  const isIndex = inside !== null && first === OPEN_ARRAY && typeof step.step === "number";
  return note(memo, step, isIndex ? findIndex(memo, inside, step.step) : null);
}

/** If rules know more keys of an object than this, most of those keys are not for the message at hand. */
const MAX_TOGETHER = 16;

/**
 * This many members are looked up one by one. After that all are looked up in one pass, because each lookup walks over
 * the whole object, which may be large.
 */
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

/** Looks up several members of an object in one pass. */
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
      // The scanner has made sure that no key occurs twice.
      if (--missing === 0) return spend(work, walkSteps(begins - start));
    }
    const ends = endOfValue(bytes, begins);
    if (member !== null) member.end = ends;
    at = skipSpace(bytes, ends);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  spend(work, walkSteps(at - start));
}

/** The same for many members. Stores only those that are found, and no null for those that are missing. */
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

/** The span of a value that has been looked up. */
export function spanOf(seen: Seen): Span {
  return { start: seen.start, end: endOf(seen) };
}

function endOf(seen: Seen): number {
  return (seen.end ??= endOfValue(seen.bytes, seen.start));
}

/** The text of a string that has been looked up; null if it is not a string. */
export function textOf(seen: Seen): string | null {
  if (seen.text === undefined) {
    const { bytes, start } = seen;
    seen.text = bytes[start] === QUOTE ? readText(bytes, start + 1, endOf(seen) - 1) : null;
  }
  return seen.text;
}

/** The value of a number that has been looked up; null if it is not a number. */
export function decimalIn(seen: Seen): Decimal | null {
  if (seen.decimal === undefined) {
    const { bytes, start } = seen;
    const isNumber = kindAt(bytes, start) === "number";
    seen.decimal = isNumber ? readDecimal(bytes.toString("latin1", start, endOf(seen))) : null;
  }
  return seen.decimal;
}

/** All readings of a path or URI that has been looked up; null if it is not a string or cannot be resolved. */
export function readingsOf(seen: Seen): readonly Reading[] | null {
  if (seen.readings === undefined) {
    const text = textOf(seen);
    seen.readings = text === null ? null : readPlace(text);
  }
  return seen.readings;
}

/** The first `count` elements of an array that has been looked up, and one more if there are more. */
export function elementsOf(seen: Seen, count: number): Seen[] {
  const elements: Seen[] = [];
  eachElement(seen.bytes, { start: seen.start, end: seen.start }, (start, end) => {
    elements.push(see(seen.bytes, start, end));
    return elements.length <= count;
  });
  return elements;
}

/** The span of a field in this part, or null. Looks it up without a table or memo of the caller. */
export function findField(part: Part, field: Field, work: Work = beginWork()): Span | null {
  const seen = lookUp(createFieldMemo(part, work), createFieldTable().intern(field));
  return seen === null ? null : spanOf(seen);
}

/** The JSON type of the value that begins at this offset. */
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

/** The text of the string at this span, or null if it is not a string. */
export function textAt(bytes: Buffer, { start, end }: Span): string | null {
  return bytes[start] === QUOTE ? readText(bytes, start + 1, end - 1) : null;
}

/** The number at this span as it is spelled, or null if it is not a number. */
export function numberAt(bytes: Buffer, { start, end }: Span): string | null {
  return kindAt(bytes, start) === "number" ? bytes.toString("latin1", start, end) : null;
}
