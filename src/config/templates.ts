import { showText } from "../message/text.ts";
import { nearest } from "../text/nearest.ts";
import type { Template, TemplateVariable } from "../rules/rule.ts";
import { parseField } from "./fields.ts";
import { type Flaw, isFlaw } from "./mistake.ts";
import type { ScalarNode } from "./node.ts";
import { refine, type Shape } from "./shape.ts";
import { text } from "./values.ts";

/** The variables of templates, apart from `param.<field>`. */
export const VARIABLES: readonly string[] = [
  "session_id",
  "method",
  "tool",
  "params_hash",
  "client",
  "identity",
  "direction",
] satisfies TemplateVariable["name"][];

/** Parses a text with `${variables}`. `$${` stands for `${`. */
export function parseTemplate(text: string): Template | Flaw {
  const parts: (string | TemplateVariable)[] = [];
  let plain = "";
  let at = 0;
  for (;;) {
    const found = text.indexOf("${", at);
    if (found < 0) break;
    if (text[found - 1] === "$" && found > at) {
      plain += `${text.slice(at, found - 1)}\${`;
      at = found + 2;
      continue;
    }
    const end = findEnd(text, found + 2);
    if (end < 0)
      return flaw(
        "bad-template",
        "A variable does not end",
        "Close it with }, or write $${ for ${",
        found,
        text.length - found,
      );
    const variable = parseVariable(text.slice(found + 2, end));
    if (isFlaw(variable))
      return {
        ...variable,
        at: variable.at + found,
        length: variable.length === 0 ? end + 1 - found : variable.length,
      };
    plain += text.slice(at, found);
    if (plain !== "") parts.push(plain);
    parts.push(variable);
    plain = "";
    at = end + 1;
  }
  plain += text.slice(at);
  if (plain !== "") parts.push(plain);
  return { text, parts };
}

/** The offset at which a variable ends. A brace in a quoted key does not end it. */
function findEnd(text: string, start: number): number {
  let quote = "";
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (quote !== "") {
      if (character === "\\") at++;
      else if (character === quote) quote = "";
    } else if (character === "}") return at;
    else if (character === '"' || character === "'") quote = character;
  }
  return -1;
}

function parseVariable(name: string): TemplateVariable | Flaw {
  if (VARIABLES.includes(name)) return { name } as TemplateVariable;
  if (name.startsWith("param.")) {
    const field = parseField(name.slice("param.".length));
    return isFlaw(field) ? { ...field, at: field.at + "${param.".length } : { name: "param", field };
  }
  const all = [...VARIABLES, "param.<field>"];
  const hint = /^params?[./[]/.test(name) ? `param.${name.replace(/^params?[./]?/, "")}` : nearest(name.trim(), all);
  const suggestion = hint === null ? `Known: ${all.join(", ")}` : `Did you mean \${${showText(hint, 60)}}?`;
  return flaw("unknown-variable", `Unknown variable: \${${showText(name, 60)}}`, suggestion, 0, 0);
}

function flaw(code: Flaw["code"], message: string, suggestion: string, at: number, length: number): Flaw {
  return { code, message, suggestion, at, length };
}

/** A template in a policy file. */
export function template(what = "text, with variables such as ${tool}"): Shape<Template> {
  const shape = refine(text({ what }), (value, node, page) => {
    let found = page.templates.get(value);
    if (found === undefined) page.templates.set(value, (found = parseTemplate(value)));
    return isFlaw(found) ? page.flawed(node as ScalarNode, found) : found;
  });
  return { ...shape, schema: () => ({ $ref: "#/$defs/template" }) };
}
