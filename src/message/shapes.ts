import { type Level, PARAMS, ROOT, SLOT, SLOTS } from "./keys.ts";
import { MIN_WORDS_LENGTH, takeWords, type Words } from "./words.ts";

/**
 * A key and the keys before it in its object, as hidden classes are in V8. Messages are alike: after the same keys the
 * same key usually comes again. One comparison then tells that it is well-formed, new in its object, and in which slot.
 * What is compared is the key as it is written, with its quotes and its colon.
 */
export interface Shape extends Words {
  /** The slot of the key's value, or a negative number. */
  readonly slot: number;
  /** The keys that matter in the object, or null. */
  readonly level: Level | null;
  /** Whether the keys of the object were not learnt: no key follows this shape, and all of them have to be compared. */
  readonly isLost: boolean;
  /** How many keys of the object lead here. */
  readonly count: number;
  /** The key that was learnt last of those that follow this one. The rest of them are a list, by `other`. */
  next: Shape | null;
  other: Shape | null;
  /** How many keys follow this one. */
  branches: number;
  /** Where the keys of an object begin that is the value of this key, or is in an array that is. */
  inObject: Shape | null;
  inArray: Shape | null;
}

/** So many keys are learnt. After that all are forgotten, and learning begins anew. */
const MAX_SHAPES = 4096;
/** So many keys are learnt that follow the same others: an object that is used as a map has no shape. */
const MAX_BRANCHES = 8;
/** So many keys of one object are learnt. */
export const MAX_COUNT = 24;
/** Keys that are written with more bytes are not learnt. */
const MAX_LENGTH = 64;

const NO_KEY: Words = { length: 0, first: 0, last: 0, between: new Int32Array(0) };

let learnt = 0;
let root = createRoot();
let lost = createAllLost();

/** The shape that every message begins with. */
export function beginShape(): Shape {
  if (learnt >= MAX_SHAPES) {
    learnt = 0;
    root = createRoot();
    lost = createAllLost();
  }
  return root;
}

/** Where the keys of an object begin that is the value of this shape's key. */
export function openObject(shape: Shape): Shape {
  const isParams = shape.level === ROOT && shape.slot === SLOT.params;
  return (shape.inObject ??= createHead(isParams ? PARAMS : null));
}

/** Where the keys of an object begin that is in an array under this shape's key. */
export function openElement(shape: Shape): Shape {
  return (shape.inArray ??= createHead(null));
}

/** Learns the key that is written between two places, its quotes and colon included, and follows a shape. */
export function learnKey(before: Shape, view: DataView, start: number, end: number, slot: number): Shape {
  const isOddLength = end - start < MIN_WORDS_LENGTH || end - start > MAX_LENGTH;
  const isFull = before.branches === MAX_BRANCHES || before.count === MAX_COUNT || learnt >= MAX_SHAPES;
  if (isOddLength || isFull) return loseKey(before, slot);
  const shape = createShape(takeWords(view, start, end), slot, before.level, false, before.count + 1);
  learnt++;
  shape.other = before.next;
  before.next = shape;
  before.branches++;
  return shape;
}

/** The shape of an object from the first key on that is not learnt. The objects inside it have shapes again. */
export function loseKey({ level }: Shape, slot: number): Shape {
  const shapes = level === ROOT ? lost.root : level === PARAMS ? lost.params : lost.other;
  return shapes[Math.max(0, slot + 1)];
}

function createAllLost() {
  return { root: createLost(ROOT), params: createLost(PARAMS), other: createLost(null) };
}

/** One for each slot, and one for no slot. */
function createLost(level: Level | null): readonly Shape[] {
  return Array.from({ length: SLOTS + 1 }, (_, nth) => createShape(NO_KEY, nth - 1, level, true, 0));
}

function createHead(level: Level | null): Shape {
  return createShape(NO_KEY, -1, level, false, 0);
}

function createRoot(): Shape {
  const shape = createHead(null);
  shape.inObject = createHead(ROOT);
  return shape;
}

/** One function for all, so that V8 gives them one hidden class. */
function createShape(
  { length, first, last, between }: Words,
  slot: number,
  level: Level | null,
  isLost: boolean,
  count: number,
): Shape {
  return {
    length,
    first,
    last,
    between,
    slot,
    level,
    isLost,
    count,
    next: null,
    other: null,
    branches: 0,
    inObject: null,
    inArray: null,
  };
}
