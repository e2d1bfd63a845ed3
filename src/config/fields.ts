import { showText } from "../message/text.ts";
import { isPathFlaw, readPath } from "../text/path.ts";
import type { Field } from "../message/field.ts";
import { type Flaw, isFlaw } from "./mistake.ts";
import type { ScalarNode } from "./node.ts";
import { refine, type Shape } from "./shape.ts";
import { text } from "./values.ts";

/**
 * Parses a path into a message: a dotted path (`arguments.path`, `content[0].text`, `a["x.y"]`) or a JSON Pointer
 * (`/a/0`).
 */
export function parseField(text: string): Field | Flaw {
  const steps = readPath(text);
  return isPathFlaw(steps) ? { code: "bad-field", ...steps } : { text, steps };
}

/** A field in a policy file. It starts inside `root`, which must not be repeated in the path. */
export function field(root: "params" | "result"): Shape<Field> {
  const shape = refine(text({ what: "a field such as arguments.path" }), (value, node, page) => {
    let found = page.fields.get(value);
    if (found === undefined) page.fields.set(value, (found = parseField(value)));
    if (isFlaw(found)) return page.flawed(node as ScalarNode, found);
    if (found.steps[0] === root && found.steps.length > 1) {
      const rest = value.replace(/^\/?\w+[./]?/, value.startsWith("/") ? "/" : "");
      page.warn(
        node,
        "bad-field",
        `${page.name()}: fields begin inside ${root}`,
        `Write ${showText(rest, 60)} unless ${root} has a member ${root}`,
      );
    }
    return found;
  });
  return { ...shape, schema: () => ({ $ref: "#/$defs/field" }) };
}
