import { CLOSE_ARRAY, CLOSE_OBJECT, OPEN_ARRAY, OPEN_OBJECT } from "../message/characters.ts";
import { cutElements, type Edit } from "../message/edit.ts";
import type { Span } from "../message/envelope.ts";
import { eachMember, listElements, skipSpace } from "../message/members.ts";
import type { Message } from "../message/message.ts";
import type { Field, Json } from "../policy/rules/rule.ts";
import { encodeJson } from "./encode.ts";

/** What a change comes to: edits of the message's bytes, none where nothing changes; or why it cannot be made. */
export type Change = { readonly edits: readonly Edit[] } | { readonly problem: string };

/** Steps from a value to one inside of it. A number is an index in an array, a key in an object; "-" is behind the last element. */
export type Steps = Field["steps"];

/** Sets a value in the params of a request or notification. They are made where there are none. */
export function setParam(message: Message, field: Field, value: Json): Change {
  const { envelope } = message;
  if (envelope.kind !== "request" && envelope.kind !== "notification") return problem("it has no params");
  const text = encodeJson(value);
  if (text === null) return problem("the value is not JSON");
  if (field.steps.length === 0 && !text.startsWith("{")) return problem("params have to be an object");
  if (envelope.params !== null) return setAt(message.bytes, envelope.params, field.steps, text);
  // None at all, or null: both say the same.
  const built = buildMissing(field.steps, text);
  if (typeof built !== "string") return built;
  if (!built.startsWith("{")) return problem("params have to be an object");
  return setAt(message.bytes, rootOf(message), ["params"], built);
}

/** Takes a value out of the params of a request or notification. */
export function removeParam({ bytes, envelope }: Message, field: Field): Change {
  if (envelope.kind !== "request" && envelope.kind !== "notification") return problem("it has no params");
  return envelope.params === null ? NO_CHANGE : removeAt(bytes, envelope.params, field.steps);
}

/** Sets a value in the result of an answer. */
export function setResult({ bytes, envelope }: Message, field: Field, value: Json): Change {
  if (envelope.kind !== "result") return problem("it has no result");
  const text = encodeJson(value);
  return text === null ? problem("the value is not JSON") : setAt(bytes, envelope.result, field.steps, text);
}

/**
 * Puts JSON text where the steps lead, from the value at `root`. What is there gives way; a member
 * that is not there is added, with the objects on the way to it. An array grows by one at its end.
 */
export function setAt(bytes: Buffer, root: Span, steps: Steps, text: string): Change {
  let at = root;
  for (let nth = 0; nth < steps.length; nth++) {
    const step = steps[nth];
    const rest = steps.slice(nth + 1);
    const inside = look(bytes, at);
    if (inside === null) return problem(`${show(steps, nth)} is no object`);
    const found = findStep(inside, step);
    if (found !== null) {
      at = inside.items[found].value;
      continue;
    }
    if (inside.isArray && step !== "-" && step !== inside.items.length) return problem(noElement(steps, nth, inside));
    const built = buildMissing(rest, text);
    if (typeof built !== "string") return built;
    return insert(inside, inside.isArray ? built : `${JSON.stringify(String(step))}:${built}`);
  }
  return { edits: [{ span: at, by: Buffer.from(text) }] };
}

/** Takes out what the steps lead to, with one comma. Where nothing is there, nothing is to be done. */
export function removeAt(bytes: Buffer, root: Span, steps: Steps): Change {
  let at = root;
  for (let nth = 0; nth < steps.length; nth++) {
    const inside = look(bytes, at);
    const found = inside === null ? null : findStep(inside, steps[nth]);
    if (inside === null || found === null) return NO_CHANGE;
    if (nth === steps.length - 1) return { edits: cutElements(inside.items, (index) => index === found) };
    at = inside.items[found].value;
  }
  return problem("the whole of it cannot be taken out");
}

/** Puts an element before the one at `index` of the array at `span`. */
export function insertElement(bytes: Buffer, span: Span, index: number, text: string): Change {
  const elements = listElements(bytes, span);
  if (index > elements.length) return problem("the array is too short");
  if (index === elements.length) return insert(wrap(bytes, span, elements), text);
  const place = elements[index].start;
  return { edits: [{ span: { start: place, end: place }, by: Buffer.from(`${text},`) }] };
}

/** What stands in the value that the steps lead to, or null. */
export function findAt(bytes: Buffer, root: Span, steps: Steps): Span | null {
  let at = root;
  for (const step of steps) {
    const inside = look(bytes, at);
    const found = inside === null ? null : findStep(inside, step);
    if (inside === null || found === null) return null;
    at = inside.items[found].value;
  }
  return at;
}

/** The one change that changes nothing. */
export const NO_CHANGE: Change = { edits: [] };

/** A change that cannot be made. */
export function problem(text: string): { readonly problem: string } {
  return { problem: text };
}

/** The members of an object or the elements of an array, from their first byte to their last. */
interface Inside {
  readonly isArray: boolean;
  readonly items: readonly Item[];
  /** Where the first item would begin. */
  readonly begin: number;
}

interface Item extends Span {
  readonly key: string | null;
  readonly value: Span;
}

function look(bytes: Buffer, span: Span): Inside | null {
  const first = bytes[span.start];
  if (first === OPEN_ARRAY) return { isArray: true, ...wrap(bytes, span, listElements(bytes, span)) };
  if (first !== OPEN_OBJECT) return null;
  const items: Item[] = [];
  eachMember(bytes, span, (key, value, start) => items.push({ key, value, start, end: value.end }));
  return { isArray: false, items, begin: beginOf(bytes, span) };
}

function wrap(bytes: Buffer, span: Span, elements: readonly Span[]): Omit<Inside, "isArray"> {
  return { items: elements.map((value) => ({ ...value, key: null, value })), begin: beginOf(bytes, span) };
}

/** Behind the bracket; in an empty value with space in it, before that space. */
function beginOf(bytes: Buffer, span: Span): number {
  const at = skipSpace(bytes, span.start + 1);
  return bytes[at] === CLOSE_OBJECT || bytes[at] === CLOSE_ARRAY ? span.start + 1 : at;
}

function findStep({ isArray, items }: Inside, step: string | number): number | null {
  if (isArray) return typeof step === "number" && step in items ? step : null;
  const index = items.findIndex(({ key }) => key === String(step));
  return index < 0 ? null : index;
}

/** Adds an item behind the last one. */
function insert({ items, begin }: Omit<Inside, "isArray">, text: string): Change {
  const last = items.at(-1);
  const place = last === undefined ? begin : last.end;
  return { edits: [{ span: { start: place, end: place }, by: Buffer.from(last === undefined ? text : `,${text}`) }] };
}

function rootOf({ bytes, start, end }: Message): Span {
  return { start: skipSpace(bytes, start), end };
}

/** JSON text with what the steps ask for around it: objects, and arrays of one element. */
function buildMissing(steps: Steps, text: string): string | { readonly problem: string } {
  let built = text;
  for (const step of steps.toReversed()) {
    if (step === 0) built = `[${built}]`;
    else if (typeof step === "number") return problem(`there is no array that could have an element ${step}`);
    else built = `{${JSON.stringify(step)}:${built}}`;
  }
  return built;
}

function noElement(steps: Steps, nth: number, { items }: Inside): string {
  const array = show(steps, nth);
  if (typeof steps[nth] === "string") return `${array} is an array and has no member ${steps[nth]}`;
  return `${array} has ${items.length} elements and none at ${steps[nth]}`;
}

/** The first steps, for people. */
function show(steps: Steps, count: number): string {
  return count === 0 ? "it" : `/${steps.slice(0, count).join("/")}`;
}
