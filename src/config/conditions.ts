import { METHODS } from "../message/methods.ts";
import type { Condition } from "../rules/rule.ts";
import { type Clause, clause } from "./clause.ts";
import { list, map } from "./collections.ts";
import { field } from "./fields.ts";
import { json } from "./json.ts";
import { paths } from "./addresses.ts";
import { checkMethodName, VENDORS } from "./methods.ts";
import type { ScalarNode } from "./node.ts";
import { isProblem, WRONG } from "./page.ts";
import { rulePattern } from "./patterns.ts";
import { named, needed, optional, refine, type Shape } from "./shape.ts";
import { TOUCHES } from "./touches.ts";
import { duration } from "./units.ts";
import { choice, exactNumber, integer, text } from "./values.ts";

/** One condition of a rule. */
export const CONDITION: Shape<Condition> = named("condition", "a condition", () => ANY_CONDITION);

const METHOD = text({ what: "a method such as tools/call" });

const METHOD_NAME = refine(METHOD, (name, node, page) => (checkMethodName(name, node, page) ? name : WRONG));

/** A part of a method name, or a pattern for it. */
function methodPart<T>(shape: Shape<T>, fits: (part: T, method: string) => boolean): Shape<T> {
  return refine(shape, (part, node, page) => {
    if (!METHODS.some(({ name }) => fits(part, name)))
      page.warn(node, "unknown-method", `${page.name()} matches no method of the protocol`, VENDORS);
    return part;
  });
}
const CODE = integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

const STATE_KEY = text({ what: "a key" });

/** All conditions. */
const CONDITIONS: Readonly<Record<Condition["is"], Clause<Condition>>> = {
  method_equals: { help: "The method is this.", shape: refine(METHOD_NAME, (text) => ({ is: "method_equals", text })) },
  method_starts_with: {
    help: "The method begins with this.",
    shape: refine(
      methodPart(METHOD, (text, method) => method.startsWith(text)),
      (text) => ({ is: "method_starts_with", text }),
    ),
  },
  method_ends_with: {
    help: "The method ends with this.",
    shape: refine(
      methodPart(METHOD, (text, method) => method.endsWith(text)),
      (text) => ({ is: "method_ends_with", text }),
    ),
  },
  method_matches: {
    help: "The method matches a regular expression (RE2).",
    shape: refine(
      methodPart(rulePattern(), (pattern, method) => pattern.test(method)),
      (pattern) => ({ is: "method_matches", pattern }),
    ),
  },
  method_in: {
    help: "The method is one of these.",
    shape: refine(list(METHOD_NAME, { min: 1 }), (texts) => ({ is: "method_in", texts: new Set(texts) })),
  },
  param_exists: onField("params", "param_exists", "The request has this parameter."),
  param_is_null: onField("params", "param_is_null", "The parameter is null."),
  param_is_array: onField("params", "param_is_array", "The parameter is a list."),
  result_exists: onField("result", "result_exists", "The result has this member."),
  param_equals: equals("params", "param_equals", "The parameter has this value."),
  result_equals: equals("result", "result_equals", "The member of the result has this value."),
  param_in: {
    help: "The parameter has one of these values.",
    shape: refine(
      map({
        field: needed(field("params"), "The parameter."),
        values: needed(list(json(), { min: 1 }), "The values."),
      }),
      ({ field, values }) => ({ is: "param_in", field, values }),
    ),
  },
  param_matches: matches("params", "param_matches", "The parameter matches a regular expression (RE2)."),
  result_matches: matches("result", "result_matches", "The member of the result matches a regular expression (RE2)."),
  param_greater_than: compares("param_greater_than", "The parameter is a number greater than this."),
  param_less_than: compares("param_less_than", "The parameter is a number less than this."),
  param_within: {
    help: "The parameter is a path or URI below one of these, after resolving dots, escapes and encodings; or a list of such.",
    shape: refine(
      map({
        field: needed(field("params"), "The parameter."),
        paths: needed(paths(), "The directories."),
      }),
      ({ field, paths }) => ({ is: "param_within", field, paths }),
    ),
  },
  touches: {
    help: "A path or URI anywhere in the request may refer to one of these, in any reading. Uncertain cases match. Use it in rules that refuse.",
    shape: TOUCHES,
  },
  error_code_equals: {
    help: "The answer is an error with this code.",
    shape: refine(CODE, (code) => ({ is: "error_code_equals", code })),
  },
  error_message_contains: {
    help: "The answer is an error whose message contains this.",
    shape: refine(text(), (text) => ({ is: "error_message_contains", text })),
  },
  session_id_equals: {
    help: "The session has this id.",
    shape: refine(text(), (text) => ({ is: "session_id_equals", text })),
  },
  session_age_greater_than: {
    help: "The session is older than this.",
    shape: refine(duration(), (milliseconds) => ({ is: "session_age_greater_than", milliseconds })),
  },
  calls_so_far: {
    help: "The session has made more calls than this, of one tool or of all.",
    shape: refine(
      map({
        tool: optional(text({ what: "the name of a tool" }), "Only calls of this tool.", null),
        greater_than: needed(integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), "How many."),
      }),
      ({ tool, greaterThan }) => ({ is: "calls_so_far", tool, greaterThan }),
    ),
  },
  state_equals: {
    help: "The value stored in the session under a key is this.",
    shape: refine(
      map({ key: needed(STATE_KEY, "The key."), value: needed(json(), "The value, of any type.") }),
      ({ key, value }) => ({ is: "state_equals", key, value }),
    ),
  },
  direction: {
    help: "The message goes up, from client to server, or down.",
    shape: refine(choice(["up", "down"]), (direction) => ({ is: "direction", direction })),
  },
  client_matches: onPattern("client_matches", "The name of the client matches a regular expression (RE2)."),
  tool_matches: onPattern("tool_matches", "The name of the tool matches a regular expression (RE2)."),
  identity_matches: onPattern("identity_matches", "The identity of the client matches a regular expression (RE2)."),
  all: {
    help: "All of these conditions match.",
    shape: refine(list(CONDITION, { min: 1 }), (conditions) => ({ is: "all", conditions })),
  },
  any: {
    help: "At least one of these conditions matches.",
    shape: refine(list(CONDITION, { min: 1 }), (conditions) => ({ is: "any", conditions })),
  },
  not: { help: "This condition does not match.", shape: refine(CONDITION, (condition) => ({ is: "not", condition })) },
  cel: {
    help: "An expression in CEL over method, params, result, error, session and client is true.",
    shape: refine(text({ what: "an expression" }), (expression, node, page) => {
      const made = page.engines.cel(expression);
      if (!isProblem(made)) return { is: "cel", expression };
      const { problem, at = null } = made;
      const flaw = { code: "bad-expression", message: `This expression cannot be used: ${problem}` } as const;
      if (at === null) return page.wrong(node, flaw.code, flaw.message, null);
      return page.flawed(node as ScalarNode, { ...flaw, suggestion: null, at, length: 1 });
    }),
  },
};

/** The names of all conditions except `direction`, which is also a key of a rule. */
export const CONDITION_NAMES = Object.keys(CONDITIONS).filter((name) => name !== "direction");

/** The shape of any condition. The JSON Schema contains it once. */
export const ANY_CONDITION: Shape<Condition> = clause("condition", CONDITIONS, {
  method: "Write method_equals: tools/call",
  tool: "Write tool_matches: ^name$",
  tool_equals: "Write tool_matches: ^name$, or param_equals: { field: name, value: … }",
  tool_in: "Write param_in: { field: name, values: […] }",
  param: "Write param_equals: { field: arguments.…, value: … }",
  client: "Write client_matches: ^name$",
  identity: "Write identity_matches: ^name$",
  path: "Write touches: { paths: […] } to refuse, or param_within: { field: …, paths: […] } to allow",
  path_matches: "Write touches: { globs: […] } to refuse, or param_within: { field: …, paths: […] } to allow",
  and: "Write all",
  or: "Write any",
  none: "Write not: { any: […] }",
  expression: "Write cel",
});

function onField(
  root: "params" | "result",
  is: "param_exists" | "param_is_null" | "param_is_array" | "result_exists",
  help: string,
): Clause<Condition> {
  return { help, shape: refine(field(root), (field) => ({ is, field })) };
}

function equals(root: "params" | "result", is: "param_equals" | "result_equals", help: string): Clause<Condition> {
  const shape = map({ field: needed(field(root), "The member."), value: needed(json(), "The value, of any type.") });
  return { help, shape: refine(shape, ({ field, value }) => ({ is, field, value })) };
}

function matches(root: "params" | "result", is: "param_matches" | "result_matches", help: string): Clause<Condition> {
  const shape = map({
    field: needed(field(root), "The member."),
    pattern: needed(rulePattern(), "The regular expression, in RE2's syntax."),
  });
  return { help, shape: refine(shape, ({ field, pattern }) => ({ is, field, pattern })) };
}

function compares(is: "param_greater_than" | "param_less_than", help: string): Clause<Condition> {
  const shape = map({ field: needed(field("params"), "The parameter."), value: needed(exactNumber(), "The number.") });
  return { help, shape: refine(shape, ({ field, value }) => ({ is, field, value })) };
}

function onPattern(is: "client_matches" | "tool_matches" | "identity_matches", help: string): Clause<Condition> {
  return { help, shape: refine(rulePattern(), (pattern) => ({ is, pattern })) };
}
