import type { Range } from "./source.ts";

/** A value in a YAML file, with its position. */
export type Node = ScalarNode | ListNode | MapNode;

/** A single value. */
export interface ScalarNode extends Range {
  readonly kind: "scalar";
  /** An integer that is not safe as a number is a bigint; one that is too long is Infinity. */
  readonly value: null | boolean | number | bigint | string;
  /**
   * Whether the source text is the value itself, apart from quotes. An offset in one is then an offset in the other.
   */
  readonly isVerbatim: boolean;
}

/** A list. Its items are created when they are read. */
export interface ListNode extends Range {
  readonly kind: "list";
  readonly length: number;
  item(nth: number): Node;
}

/** Keys and values in the order of the file. A key may occur twice. */
export interface MapNode extends Range {
  readonly kind: "map";
  readonly entries: readonly Entry[];
}

/** A key and its value. The range is that of the key. */
export interface Entry extends Range {
  readonly name: string;
  readonly value: Node;
}

/** The kinds of values, in words for people. */
export type NodeKind = "nothing" | "flag" | "number" | "text" | "list" | "map";

/** The kind of a value. */
export function kindOf(node: Node): NodeKind {
  if (node.kind !== "scalar") return node.kind;
  if (typeof node.value === "string") return "text";
  if (typeof node.value === "boolean") return "flag";
  return node.value === null ? "nothing" : "number";
}

/** The kind of a value for use in a sentence: "not a number". */
export function describe(node: Node): string {
  switch (kindOf(node)) {
    case "nothing":
      return "nothing";
    case "list":
      return "a list";
    case "map":
      return "a map of keys";
    case "text":
      return "text";
    case "flag":
      return String((node as ScalarNode).value);
    case "number":
      return "a number";
  }
}
