import type { Steps } from "../text/path.ts";
import { findField } from "./fields.ts";
import type { AmountRange, FieldRef, Filter, FilterNode } from "./filter.ts";
import { quote } from "./quoted.ts";
import { printPattern } from "./pattern-text.ts";

/** The canonical text of a filter. Parsing it gives the same filter. */
export function printFilter({ root }: Filter): string {
  return printNode(root);
}

/** The canonical text of a part of a filter. */
export function printNode(node: FilterNode): string {
  switch (node.kind) {
    case "all":
      return node.of
        .map((each) => (each.kind === "all" || each.kind === "any" ? inBrackets(each) : printNode(each)))
        .join(" ");
    case "any":
      return node.of.map((each) => (each.kind === "any" ? inBrackets(each) : printNode(each))).join(" or ");
    case "not":
      return `-${"of" in node.of ? inBrackets(node.of) : printNode(node.of)}`;
    case "contains":
      if (node.field.name === "shown") return node.values.map((value) => printText(value)).join(" ");
      return `${printField(node.field)}:${printValues(node.values)}`;
    case "equals":
      return `${printField(node.field)}=${printValues(node.values)}`;
    case "matches":
      return `${node.field.name === "shown" ? "" : printField(node.field)}~${printPattern(node)}`;
    case "exists":
      return `${printField(node.field)}:*`;
    case "word":
      return `${node.field.name}:${node.words.join(",")}`;
    case "within":
      return `${node.field.name}:${node.ranges.map(printRange).join(",")}`;
    case "compare":
      return `${node.field.name}${node.operator}${node.amount.text}`;
  }
}

function inBrackets(node: FilterNode): string {
  return `(${printNode(node)})`;
}

/** A field and its path in the syntax of filters. */
export function printField({ name, path }: FieldRef): string {
  return `${name}${printPath(path)}`;
}

function printPath(path: Steps): string {
  return path
    .map((step) => {
      if (typeof step === "number") return `[${step}]`;
      return SIMPLE_KEY.test(step) ? `.${step}` : `[${quote(step)}]`;
    })
    .join("");
}

const SIMPLE_KEY = /^[A-Za-z_][\w-]*$/;

function printRange({ from, to }: AmountRange): string {
  return to === null ? from.text : `${from.text}..${to.text}`;
}

function printValues(values: readonly string[]): string {
  return values.map((value) => (PLAIN_VALUE.test(value) ? value : quote(value))).join(",");
}

// Values that could be read as something else are quoted, including some that would not need quotes.
const PLAIN_VALUE = /^[^\s"(),*:=<>~!][^\s"(),*]*$/;

/** A text that is searched for in the visible text of the row. */
function printText(text: string): string {
  const isPlain = PLAIN_TEXT.test(text) && !WORDS.test(text) && findField(text) === undefined;
  return isPlain ? text : quote(text);
}

const PLAIN_TEXT = /^[^\s"(),*:=<>~!&|-][^\s"(),*:=<>~!&|]*$/;
const WORDS = /^(?:or|and|not)$/i;
