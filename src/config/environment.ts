import type { Node } from "./node.ts";
import { type Page, WRONG, type Wrong } from "./page.ts";
import type { Shape } from "./shape.ts";
import { VARIABLES } from "./templates.ts";

/** A text in which environment variables, `$VAR` and `${VAR}`, are filled in. */
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

/** The same for a secret, which is starred out in excerpts. */
export function secret(shape: Shape<string>): Shape<string> {
  const inner = expanded(shape);
  return {
    ...inner,
    read(node, page) {
      // The bare name of a variable is shown, because it is not secret and helps to fix the mistake.
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
    // A message must not decide where data is sent, so variables of messages are refused here.
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
