import type { Node } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";
import type { Shape } from "./shape.ts";
import { VARIABLES } from "./templates.ts";

/** A text in which `$VAR` and `${VAR}` stand for variables of the environment, filled in. */
export function expanded(shape: Shape<string>): Shape<string> {
  return {
    what: shape.what,
    read(node, page) {
      const text = shape.read(node, page);
      return text === WRONG ? WRONG : expand(text, node, page);
    },
    schema: () => shape.schema(),
  };
}

/** The same for what nobody else should read. */
export function secret(shape: Shape<string>): Shape<string> {
  const inner = expanded(shape);
  return {
    ...inner,
    read(node, page) {
      // What is only the name of a variable helps whoever has to mend it.
      if (node.kind === "scalar" && !(typeof node.value === "string" && ONLY_VARIABLES.test(node.value)))
        page.source.hide(node);
      return inner.read(node, page);
    },
  };
}

const VARIABLE = /\$(?:\{([^}]*)\}|(\w+))/g;
const ONLY_VARIABLES = /^(?:(?:Bearer|Basic|Token) )?\$(?:\{\w+\}|\w+)$/i;

function expand(text: string, node: Node, page: Page): string | Wrong {
  if (!text.includes("$")) return text;
  let isRight = true;
  const filled = text.replaceAll(VARIABLE, (all, braced?: string, bare?: string) => {
    const name = braced ?? bare ?? "";
    // Whether a message says so or its sender is the same: what is asked for must not choose where things go.
    const isOfMessage = VARIABLES.includes(name) || name.startsWith("param.");
    const value = Object.hasOwn(page.env, name) ? page.env[name] : undefined;
    if (value !== undefined) return value;
    isRight = false;
    if (isOfMessage) {
      page.wrong(
        node,
        "unknown-variable",
        `${page.name()}: ${all} depends on a message, and cannot be used here`,
        "Write the value, or use an environment variable",
      );
    } else if (/^\w+$/.test(name)) {
      page.wrong(
        node,
        "unset-variable",
        `${page.name()}: variable ${name} is not set`,
        `Set it, or take \${${name}} out`,
      );
    } else page.wrong(node, "unset-variable", `${page.name()}: not the name of a variable`, "Write ${NAME}");
    return "";
  });
  return isRight ? filled : WRONG;
}
