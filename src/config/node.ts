import type { Range } from "./source.ts";

/** A value in a YAML file, and where it stands. */
export type Node = ScalarNode | ListNode | MapNode;

/** A single value. */
export interface ScalarNode extends Range {
  readonly kind: "scalar";
  /** Whole numbers that do not fit into a number are big ones; what is beyond all bounds is Infinity. */
  readonly value: null | boolean | number | bigint | string;
  /** Whether the file has the very characters of the value, but for quotes: then a place in one is a place in the other. */
  readonly isVerbatim: boolean;
}

/** A list. Its items are made when they are asked for. */
export interface ListNode extends Range {
  readonly kind: "list";
  readonly length: number;
  item(nth: number): Node;
}

/** Keys and values, in the order of the file. A key may be there twice. */
export interface MapNode extends Range {
  readonly kind: "map";
  readonly entries: readonly Entry[];
}

/** A key and its value. Its place is the key's. */
export interface Entry extends Range {
  readonly name: string;
  readonly value: Node;
}

/** What people call a value. */
export type NodeKind = "nothing" | "flag" | "number" | "text" | "list" | "map";

/** What kind of value it is. */
export function kindOf(node: Node): NodeKind {
  if (node.kind !== "scalar") return node.kind;
  if (typeof node.value === "string") return "text";
  if (typeof node.value === "boolean") return "flag";
  return node.value === null ? "nothing" : "number";
}

/** A value in a sentence: "not the number 5". */
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
