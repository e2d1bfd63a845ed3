import type { Condition, RulePattern } from "./rule.ts";
import type { Field } from "../message/field.ts";

/** How many characters of a value are shown in an explanation. */
export const MAX_SHOWN = 100;

/** A condition on one line, for people. */
export function describeCondition(condition: Condition): string {
  const { is, ...rest } = condition;
  if ("conditions" in rest) return is;
  if ("condition" in rest) return is;
  if (condition.is === "touches") return describeTouches(condition);
  const words = Object.values(rest).flatMap((value: unknown) => (value === null ? [] : [show(value)]));
  return [is, ...words].join(" ");
}

function describeTouches({ paths, globs, fields }: Condition & { readonly is: "touches" }): string {
  const where = fields === null ? "" : ` in ${fields.map(({ text }) => text).join(", ")}`;
  return `touches ${[...paths, ...globs].join(", ")}${where}`;
}

function show(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Set) return show([...value]);
  if (isPattern(value)) return `/${value.source}/`;
  if (isField(value)) return value.text;
  return JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each));
}

function isPattern(value: unknown): value is RulePattern {
  return typeof value === "object" && value !== null && "source" in value && "test" in value;
}

function isField(value: unknown): value is Field {
  return typeof value === "object" && value !== null && "steps" in value && "text" in value;
}
