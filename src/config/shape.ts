import type { Node } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";

/** Describes a value in a policy file: reads it, reports mistakes in it, and describes itself in the JSON Schema. */
export interface Shape<T> {
  /** A description for use in a sentence: "a whole number". */
  readonly what: string;
  read(node: Node, page: Page): T | Wrong;
  schema(): JsonSchema;
}

/** A part of a JSON Schema. */
export type JsonSchema = { readonly [key: string]: unknown };

/** One key of a map: the shape of its value, and a help text. */
export interface Key<T> {
  readonly shape: Shape<T>;
  readonly help: string;
  /** The value if the key is missing; MISSING if the key is required. */
  readonly fallback: T | typeof MISSING;
  /** Whether it is reserved for a later version. */
  readonly isLater: boolean;
}

/** The fallback of a required key. */
export const MISSING: unique symbol = Symbol("missing");

/** A required key. */
export function needed<T>(shape: Shape<T>, help: string): Key<T> {
  return { shape, help, fallback: MISSING, isLater: false };
}

/** An optional key. */
export function optional<T, F>(shape: Shape<T>, help: string, fallback: F): Key<T | F> {
  return { shape, help, fallback, isLater: false };
}

/**
 * A key that is reserved and described but does nothing yet. Using it is a mistake, which is better than ignoring it.
 */
export function later(shape: Shape<unknown>, help: string): Key<null> {
  return { shape: { ...shape, read: () => WRONG }, help, fallback: null, isLater: true };
}

/** A shape whose values are converted or checked further. */
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

/** A shape that the JSON Schema describes once under `$defs`. It may contain itself. */
export function named<T>(name: string, what: string, find: () => Shape<T>): Shape<T> {
  return {
    what,
    read: (node, page) => find().read(node, page),
    schema: () => ({ $ref: `#/$defs/${name}` }),
  };
}
