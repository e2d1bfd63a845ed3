import { showText } from "../message/text.ts";
import { nearest } from "../text/nearest.ts";
import { describe, type Entry, kindOf, type MapNode, type Node, type ScalarNode } from "./node.ts";
import type { Page, Wrong } from "./page.ts";
import type { Shape } from "./shape.ts";

/** Reports a value of the wrong kind. */
export function wrongKind(node: Node, page: Page, what: string, suggestion: string | null = null): Wrong {
  return page.wrong(node, "wrong-type", `${page.name()} must be ${what}, not ${describe(node)}`, suggestion);
}

/** Restrictions on a text. */
interface TextOptions {
  readonly what?: string;
  readonly pattern?: RegExp;
  readonly mayBeEmpty?: boolean;
  readonly examples?: readonly string[];
}

/** A text. It must not be empty unless allowed: an empty text is mostly a variable that was not set. */
export function text({ what = "text", pattern, mayBeEmpty = false, examples }: TextOptions = {}): Shape<string> {
  return {
    what,
    read(node, page) {
      if (node.kind !== "scalar" || typeof node.value !== "string") return wrongText(node, page, what);
      const { value } = node;
      if (value === "" && !mayBeEmpty)
        return page.wrong(node, "wrong-value", `${page.name()} is empty`, `Write ${what}`);
      if (value.length > MAX_TEXT_CHARACTERS) {
        const message = `${page.name()} is longer than ${MAX_TEXT_CHARACTERS} characters`;
        return page.wrong(node, "too-large", message, "Make it shorter");
      }
      if (pattern === undefined || pattern.test(value)) return value;
      return page.wrong(node, "wrong-value", `${page.name()} must be ${what}, not "${showText(value, 60)}"`);
    },
    schema: () => ({
      type: "string",
      ...(mayBeEmpty ? {} : { minLength: 1 }),
      ...(pattern === undefined ? {} : { pattern: pattern.source }),
      ...(examples === undefined ? {} : { examples }),
    }),
  };
}

/** The longest text of one value, such as a reason or a pattern. */
const MAX_TEXT_CHARACTERS = 65_536;

function wrongText(node: Node, page: Page, what: string): Wrong {
  const kind = kindOf(node);
  if (kind === "nothing")
    return page.wrong(node, "wrong-type", `${page.name()} is empty`, `Write ${what}, or take it out`);
  const isPlain = kind === "number" || kind === "flag";
  return wrongKind(node, page, what, isPlain ? `Put it in quotes: "${page.source.quote(node)}"` : null);
}

/** A whole number. */
export function integer({ min, max }: { readonly min: number; readonly max: number }): Shape<number> {
  const shape = number({ min, max });
  const what = min === 1 && max >= 1_000_000 ? "a positive whole number" : `a whole number from ${min} to ${max}`;
  return {
    what,
    read(node, page) {
      if (node.kind === "scalar" && typeof node.value === "number" && !Number.isInteger(node.value)) {
        return page.wrong(node, "wrong-value", `${page.name()} must be ${what}, not ${page.source.quote(node)}`);
      }
      return readNumber(node, page, what, min, max);
    },
    schema: () => ({ ...shape.schema(), type: "integer" }),
  };
}

/** A number. */
export function number({ min, max }: { readonly min: number; readonly max: number }): Shape<number> {
  const what = Number.isFinite(min) && Number.isFinite(max) ? `a number from ${min} to ${max}` : "a number";
  return {
    what,
    read: (node, page) => readNumber(node, page, what, min, max),
    schema: () => ({
      type: "number",
      ...(Number.isFinite(min) ? { minimum: min } : {}),
      ...(Number.isFinite(max) ? { maximum: max } : {}),
    }),
  };
}

function readNumber(node: Node, page: Page, what: string, min: number, max: number): number | Wrong {
  if (node.kind === "scalar" && (typeof node.value === "number" || typeof node.value === "bigint")) {
    const value = Number(node.value);
    if (value >= min && value <= max && Number.isFinite(value)) return value;
    return page.wrong(node, "wrong-value", `${page.name()} must be ${what}, not ${page.source.quote(node)}`);
  }
  const digits = node.kind === "scalar" && typeof node.value === "string" && /^-?\d+(?:\.\d+)?$/.test(node.value);
  return wrongKind(node, page, what, digits ? "Take away the quotes" : null);
}

/** An exact number of any size. */
export function exactNumber(): Shape<number | bigint> {
  return {
    what: "a number",
    read(node, page) {
      if (node.kind !== "scalar" || (typeof node.value !== "number" && typeof node.value !== "bigint")) {
        return wrongKind(node, page, "a number");
      }
      return isOrdinary(node.value) ? node.value : wrongNumber(node, page);
    },
    schema: () => ({ type: "number" }),
  };
}

/** True or false. */
export function flag(): Shape<boolean> {
  return {
    what: "true or false",
    read(node, page) {
      if (node.kind === "scalar" && typeof node.value === "boolean") return node.value;
      return wrongKind(node, page, "true or false", suggestFlag(node));
    },
    schema: () => ({ type: "boolean" }),
  };
}

/** YAML 1.1 had more words for booleans, and many files still use them. */
function suggestFlag(node: Node): string | null {
  const word = node.kind === "scalar" && typeof node.value === "string" ? node.value.toLowerCase() : "";
  if (["yes", "on", "true", "y"].includes(word)) return "Write true";
  return ["no", "off", "false", "n"].includes(word) ? "Write false" : null;
}

/** One of a few words or other plain values. */
export function choice<const C extends string | boolean | number>(choices: readonly C[]): Shape<C> {
  const what = choices.length === 1 ? String(choices[0]) : `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
  const words = choices.map(String);
  return {
    what,
    read(node, page) {
      const value = node.kind === "scalar" ? node.value : null;
      const found = choices.find((each) => each === value);
      if (found !== undefined) return found;
      if (node.kind !== "scalar" || value === null) return wrongKind(node, page, what);
      const hint = nearest(String(value), words);
      const meant = words.includes("true") ? suggestFlag(node) : null;
      const suggestion = meant ?? (hint === null ? null : `Did you mean ${hint}?`);
      return page.wrong(
        node,
        "wrong-value",
        `${page.name()} must be ${what}, not ${page.source.quote(node)}`,
        suggestion,
      );
    },
    schema: () => ({ enum: choices }),
  };
}

/** Reports a key that occurs twice. Returns false. */
export function repeated(page: Page, { entries }: MapNode, again: Entry): false {
  const first = entries.find(({ name }) => name === again.name);
  const { line } = page.source.place(first?.start ?? 0);
  const suggestion = `Keep this one or the one in line ${line}`;
  page.wrong(again, "repeated-key", `The key ${showText(again.name, 60)} is there twice`, suggestion);
  return false;
}

/** Whether a value can be written in JSON. */
export function isOrdinary(value: ScalarNode["value"]): boolean {
  return typeof value !== "number" || Number.isFinite(value);
}

/** Reports a number that JSON does not have. */
export function wrongNumber(node: Node, page: Page): Wrong {
  return page.wrong(
    node,
    "wrong-value",
    `${page.source.quote(node)} is not a number in JSON`,
    "Write it out, or in quotes",
  );
}
