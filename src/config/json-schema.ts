import { ANY_ACTION } from "./actions.ts";
import { ANY_CONDITION } from "./conditions.ts";
import { ANY_RULE } from "./rules.ts";
import { POLICY } from "./schema.ts";
import type { JsonSchema } from "./shape.ts";
import { VARIABLES } from "./templates.ts";

/** The JSON Schema (2020-12) of policy files, for editors. It is generated from the same tables that read them. */
export function composeJsonSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Fairlead policy",
    description: "What Fairlead lets through, hides, refuses and changes.",
    ...POLICY.schema(),
    $defs: {
      rule: { title: "Rule", ...ANY_RULE.schema() },
      condition: { title: "Condition", ...ANY_CONDITION.schema() },
      action: { title: "Action", ...ANY_ACTION.schema() },
      field: {
        title: "Field",
        description: "A dotted path or a JSON Pointer.",
        type: "string",
        minLength: 1,
        examples: ["arguments.path", "content[0].text", "/arguments/path"],
      },
      pattern: {
        title: "Pattern",
        description: "A regular expression in RE2's syntax: no lookaround, no backreferences.",
        type: "string",
        minLength: 1,
      },
      template: {
        title: "Template",
        description: `Text with variables: ${[...VARIABLES, "param.<field>"].map((name) => `\${${name}}`).join(", ")}.`,
        type: "string",
        minLength: 1,
      },
    },
  };
}
