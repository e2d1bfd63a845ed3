import { type Level, PARAMS, ROOT, SLOT, SLOTS } from "./keys.ts";
import { MIN_WORDS_LENGTH, takeWords, type Words } from "./words.ts";

/**
 * A key and the keys before it in its object, like a hidden class in V8. Messages are alike: after the same keys the
 * same key usually follows. One comparison then shows that the key is well-formed, is not a duplicate, and which slot
 * it has. The key is compared as it is written, with its quotes and its colon.
 */
export interface Shape extends Words {
  /** The slot of the key's value, or a negative number. */
  readonly slot: number;
  /** The known keys of the object, or null. */
  readonly level: Level | null;
  /** True if not all keys of the object were learnt: no shape follows this one, and each further key is compared. */
  readonly isLost: boolean;
  /** How many keys of the object come up to here, this one included. */
  readonly count: number;
  /** The shapes that can follow this one, as a linked list by `other`. The one that was learnt last is first. */
  next: Shape | null;
  other: Shape | null;
  /** How many shapes can follow this one. */
  branches: number;
  /** The first shape of an object that is the value of this key, or that is in an array under this key. */
  inObject: Shape | null;
  inArray: Shape | null;
}

/** Limit for all shapes. When it is reached, all are dropped, and learning starts again. */
const MAX_SHAPES = 4096;
/** Limit for the shapes that can follow one shape: an object that is used as a map has no stable shape. */
const MAX_BRANCHES = 8;
/** Limit for the learnt keys of one object. */
export const MAX_COUNT = 24;
/** Longer keys, in bytes as they are written, are not learnt. */
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

/** The first shape of an object that is the value of this shape's key. */
export function openObject(shape: Shape): Shape {
  const isParams = shape.level === ROOT && shape.slot === SLOT.params;
  return (shape.inObject ??= createHead(isParams ? PARAMS : null));
}

/** The first shape of an object that is in an array under this shape's key. */
export function openElement(shape: Shape): Shape {
  return (shape.inArray ??= createHead(null));
}

/** Learns the key at a span, which includes its quotes and colon, as one that follows the shape `before`. */
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

/** The shape of an object from its first key on that is not learnt. Objects inside it are learnt again. */
export function loseKey({ level }: Shape, slot: number): Shape {
  const shapes = level === ROOT ? lost.root : level === PARAMS ? lost.params : lost.other;
  return shapes[Math.max(0, slot + 1)];
}

function createAllLost() {
  return { root: createLost(ROOT), params: createLost(PARAMS), other: createLost(null) };
}

/** One shape for each slot, and one for keys without a slot. */
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

/** All shapes are created here, so that V8 gives them one hidden class. */
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
