import type { FieldDefinition } from "./fields.ts";
import { createMistake } from "./mistake.ts";
import type { Reader } from "./reader.ts";
import type { TermHead } from "./term-head.ts";
import type { Value } from "./values.ts";

/** Reports an asterisk in a value that was probably meant as a wildcard, because names do not contain asterisks. */
export function starInValue(
  { text: whole, mistakes }: Reader,
  { start, fieldEnd, operator }: TermHead,
  { isName }: FieldDefinition,
  value: Value,
  values: number,
): boolean {
  const { text, isBare } = value;
  if (!isBare || !text.includes("*") || !isName) return false;
  const inner = text.replaceAll(/^\*+|\*+$/g, "");
  const says = "A * is not a wildcard. Did you mean ";
  const place = { start: value.start, end: value.end };
  if (operator === ":" && inner !== "" && !inner.includes("*")) {
    // Text is found anywhere, so the value without its asterisks means the same.
    mistakes.push(createMistake({ at: place, fix: { ...place, text: inner } }, says, inner, "?"));
  } else if (values > 1) {
    mistakes.push(createMistake({ at: place }, "A * is not a wildcard"));
  } else {
    const field = whole.slice(start, fieldEnd);
    const minus = operator === "!=" ? "-" : "";
    const meant = `${minus}${field}${inner === "" ? ":*" : `~/${toPattern(text, operator)}/`}`;
    mistakes.push(createMistake({ at: place, fix: { start, end: value.end, text: meant } }, says, meant, "?"));
  }
  return true;
}

/** Reports an asterisk at an end of a bare word. */
export function starInText({ mistakes }: Reader, { start, end, text }: Value): boolean {
  const inner = text.replaceAll(/^\*+|\*+$/g, "");
  if (inner === text) return false;
  const at = { start, end };
  const meant = inner === "" ? `"${text}"` : inner;
  const says = inner === "" ? "A * is not a wildcard. To look for this text, write " : "A * is not a wildcard. ";
  const after = inner === "" ? "" : " is found anywhere";
  mistakes.push(createMistake({ at, fix: { ...at, text: meant } }, says, meant, after));
  return true;
}

function toPattern(text: string, operator: TermHead["operator"]): string {
  const pattern = text
    .split(/\*+/)
    .map((piece) => piece.replaceAll(/[.+?^${}()|[\]\\/]/g, "\\$&"))
    .join(".*");
  // `^.*` and `.*$` have no effect.
  return operator === ":" ? pattern : `^${pattern}$`.replace(/^\^\.\*/, "").replace(/\.\*\$$/, "");
}
