import type { Node } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";

/** What a value in a policy file must be: reads it, says what is wrong with it, and describes itself to editors. */
export interface Shape<T> {
  /** In a sentence: "a whole number". */
  readonly what: string;
  read(node: Node, page: Page): T | Wrong;
  schema(): JsonSchema;
}

/** A piece of JSON Schema. */
export type JsonSchema = { readonly [key: string]: unknown };

/** One key of a map: what its value is, and what it is for. */
export interface Key<T> {
  readonly shape: Shape<T>;
  readonly help: string;
  /** What holds where the key is not there; MISSING where it must be. */
  readonly fallback: T | typeof MISSING;
  /** Whether it is for a version to come. */
  readonly isLater: boolean;
}

/** Stands for the value of a key that must be there. */
export const MISSING: unique symbol = Symbol("missing");

/** A key that must be there. */
export function needed<T>(shape: Shape<T>, help: string): Key<T> {
  return { shape, help, fallback: MISSING, isLater: false };
}

/** A key that may be left out. */
export function optional<T, F>(shape: Shape<T>, help: string, fallback: F): Key<T | F> {
  return { shape, help, fallback, isLater: false };
}

/** A key that is known and described, and does nothing yet: saying so is better than leaving it unread. */
export function later(shape: Shape<unknown>, help: string): Key<null> {
  return { shape: { ...shape, read: () => WRONG }, help, fallback: null, isLater: true };
}

/** A shape whose values are made into something else, or found wanting. */
export function refine<T, U>(shape: Shape<T>, make: (value: T, node: Node, page: Page) => U | Wrong): Shape<U> {
  return {
    what: shape.what,
    read(node, page) {
      const value = shape.read(node, page);
      return value === WRONG ? WRONG : make(value, node, page);
    },
    schema: () => shape.schema(),
  };
}

/** A shape that the JSON Schema describes once, and that may contain itself. */
export function named<T>(name: string, what: string, find: () => Shape<T>): Shape<T> {
  return {
    what,
    read: (node, page) => find().read(node, page),
    schema: () => ({ $ref: `#/$defs/${name}` }),
  };
}
