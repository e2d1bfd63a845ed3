import { nearest } from "../text/nearest.ts";
import type { TransformSetting } from "../rules/rule.ts";
import type { Json } from "../message/json.ts";
import { KIND_NAMES } from "../rules/sensitive/kinds.ts";
import { type Clause, clause } from "./clause.ts";
import { byKind, list, map } from "./collections.ts";
import { field, parseField } from "./fields.ts";
import { json, jsonMap } from "./json.ts";
import { isFlaw } from "./mistake.ts";
import { MODULE } from "./modules.ts";
import type { Wrong } from "./page.ts";
import { rulePattern } from "./patterns.ts";
import { needed, optional, refine, type Shape } from "./shape.ts";
import { choice, integer, text } from "./values.ts";

/** What each operation of a JSON Patch needs in addition to a path. */
const NEEDS = { add: "value", replace: "value", test: "value", move: "from", copy: "from", remove: null } as const;

const REDACTED = "[redacted]";
const REDACT = map({
  kinds: optional(list(choice(KIND_NAMES), { min: 1 }), "What to look for.", null),
  patterns: optional(list(rulePattern()), "What else to look for: regular expressions (RE2).", Object.freeze([])),
  by: optional(text({ mayBeEmpty: true }), "What to put in its place.", REDACTED),
});
const CHARACTERS = integer({ min: 1, max: 1_000_000_000 });
const AT = optional(field("result"), "Only this member.", null);

const TRANSFORMS: Readonly<Record<Exclude<TransformSetting["kind"], "module">, Clause<TransformSetting>>> = {
  redact: {
    help: "Replace secrets and personal data.",
    bare: () => ({ kind: "redact", kinds: ["secrets"], patterns: [], by: REDACTED }),
    // With patterns, only those are redacted, unless kinds are set as well.
    shape: refine(REDACT, ({ kinds, patterns, by }) => ({
      kind: "redact",
      kinds: kinds ?? (patterns.length > 0 ? [] : ["secrets"]),
      patterns,
      by,
    })),
  },
  truncate: {
    help: "Cut texts that are too long.",
    shape: byKind<TransformSetting>(
      {
        number: refine(CHARACTERS, (maxCharacters) => ({ kind: "truncate", maxCharacters, field: null })),
        map: refine(
          map({ max_characters: needed(CHARACTERS, "How long a text may be."), field: AT }),
          ({ maxCharacters, field }) => ({ kind: "truncate", maxCharacters, field }),
        ),
      },
      "a number of characters",
    ),
  },
  strip_control: {
    help: "Remove control characters and invisible characters.",
    bare: () => ({ kind: "strip_control", field: null }),
    shape: refine(map({ field: AT }), ({ field }) => ({ kind: "strip_control", field })),
  },
  json_patch: {
    help: "Apply a JSON Patch (RFC 6902).",
    shape: refine(list(patchOperation(), { min: 1 }), (operations) => ({ kind: "json_patch", operations })),
  },
};

const OURS = clause("transform", TRANSFORMS);
const THEIRS = refine(MODULE, (module): TransformSetting => ({ kind: "module", ...module }));

/** A transform: a built-in one with its options, or `{module, export, options}`. */
export const TRANSFORM: Shape<TransformSetting> = {
  what: "a transform such as redact",
  read(node, page) {
    const isModule = node.kind === "map" && node.entries.some(({ name }) => name === "module");
    return (isModule ? THEIRS : OURS).read(node, page);
  },
  schema: () => ({ anyOf: [OURS.schema(), THEIRS.schema()] }),
};

/** One operation of a JSON Patch. */
function patchOperation(): Shape<Json> {
  const operations = Object.keys(NEEDS);
  const shape = refine(jsonMap(), (operation, node, page): Json | Wrong => {
    const wrong = (message: string, suggestion: string): Wrong => page.wrong(node, "wrong-value", message, suggestion);
    const { op, path } = operation;
    if (typeof op !== "string" || !Object.hasOwn(NEEDS, op)) {
      const hint = typeof op === "string" ? nearest(op, operations) : null;
      return wrong(
        "A JSON Patch operation needs an op",
        hint === null ? `One of ${operations.join(", ")}` : `Did you mean op: ${hint}?`,
      );
    }
    const needs = NEEDS[op as keyof typeof NEEDS];
    if (needs !== null && !(needs in operation)) return wrong(`${op} needs ${needs}`, `Add ${needs}`);
    for (const pointer of needs === "from" ? [path, operation["from"]] : [path]) {
      if (typeof pointer !== "string" || (pointer !== "" && !pointer.startsWith("/")))
        return wrong(`${op} needs a JSON Pointer`, "Write path: /a/b");
      const found = pointer === "" ? null : parseField(pointer);
      if (found !== null && isFlaw(found)) return page.wrong(node, found.code, found.message, found.suggestion);
    }
    return operation;
  });
  return {
    ...shape,
    what: "an operation of a JSON Patch",
    schema: () => ({
      type: "object",
      required: ["op", "path"],
      properties: {
        op: { enum: operations },
        path: { type: "string" },
        from: { type: "string" },
        value: json().schema(),
      },
    }),
  };
}
