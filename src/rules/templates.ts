import { fold, foldName } from "../message/fold.ts";
import { showText } from "../message/text.ts";
import { canonicalize, hashParams, sha256 } from "./canonical.ts";
import { findField, textAt } from "./fields.ts";
import type { Template, TemplateVariable } from "./rule.ts";
import type { Field } from "../message/field.ts";
import { Unjudgeable } from "./unjudgeable.ts";
import { keep, type Look, partOf, toolOf } from "./view.ts";

/** Longer keys are replaced by their hash. */
export const MAX_KEY_CHARACTERS = 512;

/** How many characters of one value are shown in a text for people. */
const MAX_SHOWN = 200;

/**
 * Fills a template for people. Values are escaped, so they cannot forge a log line or control a terminal. A value that
 * is missing or cannot be read is empty, so that a missing value in the reason never prevents a refusal.
 */
export function fillText({ parts }: Template, look: Look): string {
  return parts.map((part) => (typeof part === "string" ? part : showText(readValue(part, look), MAX_SHOWN))).join("");
}

function readValue(variable: TemplateVariable, look: Look): string {
  try {
    return valueOf(variable, look) ?? "";
  } catch (error) {
    if (error instanceof Unjudgeable) return "";
    throw error;
  }
}

/**
 * Fills a template for a key. Each value is delimited by its length, so that different values never give the same key,
 * and a missing value differs from an empty one. With `alike`, tool names that a careless server treats as the same
 * give the same key: otherwise a client could get a new limit by changing the letter case of a name.
 */
export function fillKey({ parts }: Template, look: Look, names: "exact" | "alike"): string {
  const key = parts
    .map((part) => {
      if (typeof part === "string") return part;
      const value = valueOf(part, look);
      if (value === null) return "\0-";
      const kept = names === "alike" && part.name === "tool" ? (foldName(value) ?? fold(value)) : value;
      return `\0${kept.length}:${kept}`;
    })
    .join("");
  return key.length > MAX_KEY_CHARACTERS ? `sha256:${sha256(key)}` : key;
}

/** The value of a variable; null if it is missing. */
function valueOf(variable: TemplateVariable, look: Look): string | null {
  const { view } = look;
  switch (variable.name) {
    case "session_id":
      return view.session.id;
    case "method":
      return view.method;
    case "tool":
      return toolOf(view);
    case "client":
      return view.client;
    case "identity":
      return view.identity;
    case "direction":
      return view.direction;
    case "params_hash":
      return hashOf(look);
    case "param":
      return keep(look, `param:${variable.field.text}`, () => ({ value: paramOf(look, variable.field) })).value;
  }
}

/** The text of a parameter, or its canonical form if it is not a string; null if it is missing. */
function paramOf({ view, work }: Look, field: Field): string | null {
  const params = partOf(view, "params");
  const span = params === null ? null : findField(params, field, work);
  if (params === null || span === null) return null;
  return textAt(params.bytes, span) ?? canonicalize(params.bytes, span, work).toString("utf8");
}

/** Computed once for all templates, because it is slow for a large message. */
function hashOf(look: Look): string {
  return keep(look, "params_hash", () => {
    const params = partOf(look.view, "params");
    return hashParams(params?.bytes ?? NOTHING, params, look.work);
  });
}

const NOTHING = Buffer.alloc(0);
