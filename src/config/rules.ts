import type { Rule } from "../rules/rule.ts";
import { ACTION, ACTION_NAMES } from "./actions.ts";
import { list, map } from "./collections.ts";
import { CONDITION, CONDITION_NAMES } from "./conditions.ts";
import { jsonMap } from "./json.ts";
import { WRONG } from "./page.ts";
import { checkConditions, checkRule } from "./sense.ts";
import { named, needed, optional, refine, type Shape } from "./shape.ts";
import { choice, integer, text } from "./values.ts";

// Ids must be unique, even among rules with other mistakes.
const ID = refine(
  text({ what: "an id of letters, digits, dots and dashes", pattern: /^[A-Za-z0-9_][\w.:/-]{0,127}$/ }),
  (id, node, page) => {
    const first = page.ids.get(id);
    if (first === undefined) {
      page.ids.set(id, node.start);
      return id;
    }
    const { line } = page.source.place(first);
    return page.wrong(node, "repeated-id", `Another rule has the id ${id}, in line ${line}`, "Give each its own");
  },
);

const NOTHING = Object.freeze({});

// Checked as soon as they are read, so that other mistakes in the rule do not hide the result.
const CONDITIONS = refine(list(CONDITION), (conditions, node, page) =>
  checkConditions(conditions, node, page) ? conditions : WRONG,
);

const KEYS = map(
  {
    id: needed(ID, "The id of the rule in the audit log, metrics and errors. It must be unique."),
    name: optional(text(), "A name for people.", null),
    enabled: optional(
      choice([true, false, "observe"]),
      "Whether the rule is active; observe only judges and counts.",
      true as const,
    ),
    priority: optional(
      integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      "Rules with a higher priority are judged first; equal priorities in the order of the file.",
      0,
    ),
    direction: optional(
      choice(["up", "down", "both"]),
      "Only messages to the server (up), or to the client (down).",
      "both" as const,
    ),
    conditions: optional(
      CONDITIONS,
      "The conditions. All must match; without conditions the rule matches every message.",
      Object.freeze([]),
    ),
    actions: needed(list(ACTION, { min: 1 }), "What it does, in order."),
    metadata: optional(jsonMap(), "Your own data, shown together with the rule.", NOTHING),
  },
  "a rule",
  {
    ...Object.fromEntries(CONDITION_NAMES.map((name) => [name, `Put it under conditions: [{ ${name}: … }]`])),
    ...Object.fromEntries(ACTION_NAMES.map((name) => [name, `Put it under actions: [{ ${name}: … }]`])),
    when: "Write conditions",
    if: "Write conditions",
    match: "Write conditions",
    // oxlint-disable-next-line no-thenable -- a key that people write, and nobody awaits
    then: "Write actions",
    do: "Write actions",
    tool: "Write conditions: [{ tool_matches: ^name$ }]",
    method: "Write conditions: [{ method_equals: tools/call }]",
    description: "Write name, or put it under metadata",
    reason: "Write actions: [{ block: the reason }]",
  },
);

/** One rule of a policy. A rule that can never match is a mistake. */
export const ANY_RULE: Shape<Rule> = refine(KEYS, (values, node, page) => {
  const { id, enabled, direction } = values;
  const rule: Rule = {
    id,
    name: values.name ?? id,
    mode: enabled === true ? "on" : enabled === false ? "off" : "observe",
    priority: values.priority,
    direction: direction === "both" ? null : direction,
    conditions: values.conditions,
    actions: values.actions,
    metadata: values.metadata,
    place: page.source.place(node.start),
  };
  return node.kind === "map" && checkRule(rule, node, page) ? rule : WRONG;
});

/** The rules of a policy. */
export const RULES: Shape<readonly Rule[]> = list(named("rule", "a rule", () => ANY_RULE));
