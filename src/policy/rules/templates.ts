import { fold, foldName } from "../../message/fold.ts";
import { showText } from "../../message/text.ts";
import { canonicalize, hashParams, sha256 } from "./canonical.ts";
import { findField, textAt } from "./fields.ts";
import type { Field, Template, TemplateVariable } from "./rule.ts";
import { Unjudgeable } from "./unjudgeable.ts";
import { keep, type Look, partOf, toolOf } from "./view.ts";

/** Longer keys are replaced by their hash. */
export const MAX_KEY_CHARACTERS = 512;

/** So much of one value stands in a text for people. */
const MAX_SHOWN = 200;

/**
 * Fills a template for people: nothing in it can forge a line or drive a terminal, and what is missing, or cannot be told
 * any more, is empty. So a refusal is never lost for want of a word in its reason.
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
 * Fills a template for a key. Values are kept apart from each other and from the text around them,
 * whatever is in them, and what is missing is not what is empty. With `alike` names that a careless
 * server takes for the same are the same: nobody gets a fresh limit by writing a name in capitals.
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

/** What a variable stands for; null where there is no such thing. */
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

/** The text of a parameter, or the canonical form of one that is something else; null where it is missing. */
function paramOf({ view, work }: Look, field: Field): string | null {
  const params = partOf(view, "params");
  const span = params === null ? null : findField(params, field, work);
  if (params === null || span === null) return null;
  return textAt(params.bytes, span) ?? canonicalize(params.bytes, span, work).toString("utf8");
}

/** Computed once for all templates: a large message takes a while. */
function hashOf(look: Look): string {
  return keep(look, "params_hash", () => {
    const params = partOf(look.view, "params");
    return hashParams(params?.bytes ?? NOTHING, params, look.work);
  });
}

const NOTHING = Buffer.alloc(0);
