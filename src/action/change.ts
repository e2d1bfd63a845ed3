import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT } from "../message/characters.ts";
import { cutElements, type Edit } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { afterString, eachMember, endOfValue, listElements, skipSpace } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import { isSpelled } from "../message/spelling.ts";
import type { Field } from "../message/field.ts";
import type { Json } from "../message/json.ts";
import { encodeJson } from "./encode.ts";

/** The result of a change: edits of the message's bytes (none if nothing changes), or why it cannot be made. */
export type Change = { readonly edits: readonly Edit[] } | { readonly problem: string };

/**
 * Steps from a value to one inside it. A number is an index in an array and a key in an object; "-" is after the end.
 */
export type Steps = Field["steps"];

/** Sets a value in the params of a request or notification. Missing params are created. */
export function setParam(message: Message, field: Field, value: Json): Change {
  const { envelope } = message;
  if (envelope.kind !== "request" && envelope.kind !== "notification") return problem("it has no params");
  const text = encodeJson(value);
  if (text === null) return problem("the value is not JSON");
  if (field.steps.length === 0 && !text.startsWith("{")) return problem("params have to be an object");
  if (envelope.params !== null) return setAt(message.bytes, envelope.params, field.steps, text);
  // Missing params and null mean the same.
  const built = buildMissing(field.steps, text);
  if (typeof built !== "string") return built;
  if (!built.startsWith("{")) return problem("params have to be an object");
  return setAt(message.bytes, rootOf(message), ["params"], built);
}

/** Removes a value from the params of a request or notification. */
export function removeParam({ bytes, envelope }: Message, field: Field): Change {
  if (envelope.kind !== "request" && envelope.kind !== "notification") return problem("it has no params");
  return envelope.params === null ? NO_CHANGE : removeAt(bytes, envelope.params, field.steps);
}

/** Sets a value in the result of a response. */
export function setResult({ bytes, envelope }: Message, field: Field, value: Json): Change {
  if (envelope.kind !== "result") return problem("it has no result");
  const text = encodeJson(value);
  return text === null ? problem("the value is not JSON") : setAt(bytes, envelope.result, field.steps, text);
}

/**
 * Writes JSON text at the place that the steps lead to, from the value at `root`. A value that is there is replaced. A
 * missing member is added, with the missing objects that contain it. An array can grow by one element at its end.
 */
export function setAt(bytes: Buffer, root: Span, steps: Steps, text: string): Change {
  let at = root.start;
  for (const [nth, step] of steps.entries()) {
    const found = seek(bytes, at, step);
    if (found === null) return problem(`${show(steps, nth)} is not an object`);
    if (found.value >= 0) {
      at = found.value;
      continue;
    }
    if (found.isArray && step !== "-" && step !== found.count) return problem(noElement(steps, nth, found.count));
    const built = buildMissing(steps.slice(nth + 1), text);
    if (typeof built !== "string") return built;
    return insert(bytes, at, found.last, found.isArray ? built : `${JSON.stringify(String(step))}:${built}`);
  }
  const span = steps.length === 0 ? root : { start: at, end: endOfValue(bytes, at) };
  return { edits: [{ span, by: Buffer.from(text) }] };
}

/** Removes the value that the steps lead to, with one comma. If there is none, nothing changes. */
export function removeAt(bytes: Buffer, root: Span, steps: Steps): Change {
  if (steps.length === 0) return problem("the whole of it cannot be taken out");
  const parent = seekAll(bytes, root.start, steps.slice(0, -1));
  const value = parent < 0 ? -1 : (seek(bytes, parent, steps[steps.length - 1])?.value ?? -1);
  if (value < 0) return NO_CHANGE;
  const items = look(bytes, parent);
  return { edits: cutElements(items, (index) => items[index].value === value) };
}

/** Inserts an element before the one at `index` of the array at `span`. */
export function insertElement(bytes: Buffer, span: Span, index: number, text: string): Change {
  const elements = listElements(bytes, span);
  if (index > elements.length) return problem("the array is too short");
  if (index === elements.length) return insert(bytes, span.start, elements.at(-1)?.end ?? -1, text);
  const place = elements[index].start;
  return { edits: [{ span: { start: place, end: place }, by: Buffer.from(`${text},`) }] };
}

/** The span of the value that the steps lead to, or null. */
export function findAt(bytes: Buffer, root: Span, steps: Steps): Span | null {
  if (steps.length === 0) return root;
  const start = seekAll(bytes, root.start, steps);
  return start < 0 ? null : { start, end: endOfValue(bytes, start) };
}

/** A change that changes nothing. */
export const NO_CHANGE: Change = { edits: [] };

/** A change that cannot be made. */
export function problem(text: string): { readonly problem: string } {
  return { problem: text };
}

function seekAll(bytes: Buffer, start: number, steps: Steps): number {
  let at = start;
  for (const step of steps) {
    at = seek(bytes, at, step)?.value ?? -1;
    if (at < 0) return -1;
  }
  return at;
}

/** What one step leads to. */
interface Sought {
  readonly isArray: boolean;
  /** Where the value begins, or -1. The value itself is not read, because it may be long. */
  readonly value: number;
  /** If the value is missing: how many items there are, and where the last one ends, or -1. */
  readonly count: number;
  readonly last: number;
}

/** Takes one step into a value. Null if it is neither an object nor an array. */
function seek(bytes: Buffer, start: number, step: string | number): Sought | null {
  const isArray = bytes[start] === OPEN_ARRAY;
  if (!isArray && bytes[start] !== OPEN_OBJECT) return null;
  const key = String(step);
  let at = skipSpace(bytes, start + 1);
  let last = -1;
  let nth = 0;
  for (; bytes[at] !== CLOSE_ARRAY && bytes[at] !== CLOSE_OBJECT; nth++) {
    let isIt = nth === step;
    if (!isArray) {
      const end = afterString(bytes, at);
      isIt = isSpelled(bytes, at + 1, end - 1, key);
      at = skipSpace(bytes, skipSpace(bytes, end) + 1);
    }
    if (isIt) return { isArray, value: at, count: nth, last };
    last = endOfValue(bytes, at);
    at = skipSpace(bytes, last);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return { isArray, value: -1, count: nth, last };
}

interface Item extends Span {
  /** Where its value begins. */
  readonly value: number;
}

/** The members of an object or the elements of an array, each with its whole span. */
function look(bytes: Buffer, start: number): Item[] {
  const span = { start, end: start };
  const items: Item[] = [];
  if (bytes[start] === OPEN_ARRAY)
    for (const element of listElements(bytes, span)) items.push({ ...element, value: element.start });
  else eachMember(bytes, span, (_, value, begins) => items.push({ start: begins, end: value.end, value: value.start }));
  return items;
}

/** Where the first item goes: after the bracket, and before any whitespace in an empty object or array. */
function beginOf(bytes: Buffer, start: number): number {
  const at = skipSpace(bytes, start + 1);
  return bytes[at] === CLOSE_OBJECT || bytes[at] === CLOSE_ARRAY ? start + 1 : at;
}

/** Adds an item to the object or array at `start`, after its last item, which ends at `last`. */
function insert(bytes: Buffer, start: number, last: number, text: string): Change {
  const place = last < 0 ? beginOf(bytes, start) : last;
  return { edits: [{ span: { start: place, end: place }, by: Buffer.from(last < 0 ? text : `,${text}`) }] };
}

function rootOf({ bytes, start, end }: Message): Span {
  return { start: skipSpace(bytes, start), end };
}

/** Wraps JSON text in what the steps need: objects, and arrays of one element. */
function buildMissing(steps: Steps, text: string): string | { readonly problem: string } {
  let built = text;
  for (const step of steps.toReversed()) {
    if (step === 0) built = `[${built}]`;
    else if (typeof step === "number") return problem(`there is no array that could have an element ${step}`);
    else built = `{${JSON.stringify(step)}:${built}}`;
  }
  return built;
}

function noElement(steps: Steps, nth: number, count: number): string {
  const array = show(steps, nth);
  if (typeof steps[nth] === "string") return `${array} is an array and has no member ${steps[nth]}`;
  return `${array} has ${count} elements and none at ${steps[nth]}`;
}

/** The first steps as text, for error messages. */
function show(steps: Steps, count: number): string {
  return count === 0 ? "it" : `/${steps.slice(0, count).join("/")}`;
}
