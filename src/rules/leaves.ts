import { canonicalValue } from "../message/canonical-value.ts";
import { showText } from "../message/text.ts";
import type { CelTest } from "./cel.ts";
import { MAX_SHOWN } from "./describe.ts";
import {
  decimalIn,
  elementsOf,
  type FieldTable,
  kindAt,
  lookUp,
  readingsOf,
  type Seen,
  spanOf,
  textOf,
} from "./fields.ts";
import { hasLiteral, readLiteral } from "./literals.ts";
import { compareDecimals, decimalOf } from "./numbers.ts";
import { below } from "./paths.ts";
import type { FieldStep } from "./field-keys.ts";
import { MAX_MATCHED_CHARACTERS, sizeOf } from "./patterns.ts";
import type { Condition, RulePattern } from "./rule.ts";
import type { Field } from "../message/field.ts";
import type { Json } from "../message/json.ts";
import { Unjudgeable } from "./unjudgeable.ts";
import type { Leaf } from "./leaf.ts";
import { touching } from "./touching.ts";
import { isAnyOf, isValue } from "./values.ts";
import { type Look, memoOf, SECTION, type Section, toolOf } from "./view.ts";
import { spend } from "./work.ts";

/** A condition without nested conditions. */
export type LeafCondition = Exclude<Condition, { readonly is: "all" | "any" | "not" }>;

/** What is needed to compile conditions. */
export interface CompileContext {
  readonly fields: FieldTable;
  /** Needed if a condition is an expression, which must be known to compile. */
  readonly cel: ((expression: string) => CelTest) | null;
}

/** Compiles one condition. */
export function compileLeaf(condition: LeafCondition, context: CompileContext): Leaf {
  switch (condition.is) {
    case "method_equals":
      return onMethod((method) => method === condition.text);
    case "method_starts_with":
      return onMethod((method) => method.startsWith(condition.text));
    case "method_ends_with":
      return onMethod((method) => method.endsWith(condition.text));
    case "method_in":
      return onMethod((method) => condition.texts.has(method));
    case "method_matches":
      return onText(({ view }) => view.method, condition.pattern);
    case "param_exists":
      return onField("params", condition.field, context, () => true);
    case "result_exists":
      return onField("result", condition.field, context, () => true);
    case "param_is_null":
      return onField("params", condition.field, context, (seen) => kindAt(seen.bytes, seen.start) === "null");
    case "param_is_array":
      return onField("params", condition.field, context, (seen) => kindAt(seen.bytes, seen.start) === "array");
    case "param_equals":
      return onEqual("params", condition.field, context, condition.value);
    case "result_equals":
      return onEqual("result", condition.field, context, condition.value);
    case "param_in":
      return onField("params", condition.field, context, isAnyOf(condition.values));
    case "param_matches":
      return onString("params", condition.field, context, matching(condition.pattern));
    case "result_matches":
      return onString("result", condition.field, context, matching(condition.pattern));
    case "param_within": {
      const isWithin = below(condition.paths);
      return onField("params", condition.field, context, (seen) => {
        if (kindAt(seen.bytes, seen.start) !== "array") return isWithin(readingsOf(seen));
        const elements = elementsOf(seen, MAX_PATHS);
        if (elements.length > MAX_PATHS) throw new Unjudgeable(`a list of more than ${MAX_PATHS} paths`);
        return elements.length > 0 && elements.every((element) => isWithin(readingsOf(element)));
      });
    }
    case "touches":
      return touching(condition, context.fields);
    case "param_greater_than":
    case "param_less_than": {
      const bound = decimalOf(condition.value);
      const sign = condition.is === "param_greater_than" ? 1 : -1;
      return onField("params", condition.field, context, (seen) => {
        const decimal = decimalIn(seen);
        return decimal !== null && compareDecimals(decimal, bound) * sign > 0;
      });
    }
    case "error_code_equals":
      return onField("error", CODE, context, isValue(condition.code));
    case "error_message_contains":
      return onString("error", MESSAGE, context, (_, text) => text.includes(condition.text));
    case "session_id_equals":
      return {
        test: ({ view }) => view.sessionIds().includes(condition.text),
        saw: ({ view }) => show([...new Set(view.sessionIds())].join(", ")),
      };
    case "session_age_greater_than":
      return onValue(
        ({ view }) => view.session.ageMs(),
        (age) => age > condition.milliseconds,
      );
    case "calls_so_far":
      return onValue(
        ({ view }) => view.session.calls(condition.tool),
        (calls) => calls > condition.greaterThan,
      );
    case "state_equals": {
      const wanted = canonicalValue(condition.value);
      return onValue(
        ({ view }) => canonicalValue(view.session.state.get(condition.key) ?? null),
        (value) => value === wanted,
      );
    }
    case "direction":
      return onValue(
        ({ view }) => view.direction,
        (direction) => direction === condition.direction,
      );
    case "client_matches":
      return onText(({ view }) => view.client, condition.pattern);
    case "tool_matches":
      return onText(({ view }) => toolOf(view), condition.pattern);
    case "identity_matches":
      return onText(({ view }) => view.identity, condition.pattern);
    case "cel": {
      if (context.cel === null) throw new Error("an expression, but no compiler for expressions");
      const expression = context.cel(condition.expression);
      return { test: (look) => expression.test(look), saw: (look) => expression.saw(look) };
    }
  }
}

/** A list with more paths is not judged. No tool takes that many at a time. */
const MAX_PATHS = 10_000;

const CODE: Field = { text: "code", steps: ["code"] };
const MESSAGE: Field = { text: "message", steps: ["message"] };

function onMethod(isWanted: (method: string) => boolean): Leaf {
  return {
    test: ({ view }) => view.method !== null && isWanted(view.method),
    saw: ({ view }) => show(view.method),
  };
}

function onValue<Value extends string | number>(
  read: (look: Look) => Value,
  isWanted: (value: Value) => boolean,
): Leaf {
  return { test: (look) => isWanted(read(look)), saw: (look) => show(read(look)) };
}

function onText(read: (look: Look) => string | null, pattern: RulePattern): Leaf {
  const isMatch = matching(pattern);
  return {
    test: (look) => {
      const text = read(look);
      return text !== null && isMatch(look, text);
    },
    saw: (look) => show(read(look)),
  };
}

type TextTest = (look: Look, text: string) => boolean;

function matching(pattern: RulePattern): TextTest {
  const literal = readLiteral(pattern.source);
  return (look, text) => {
    if (text.length > MAX_MATCHED_CHARACTERS)
      throw new Unjudgeable(`a text of more than ${MAX_MATCHED_CHARACTERS} characters; send or ask for less at a time`);
    if (literal !== null) return hasLiteral(literal, text);
    spend(look.work, text.length * sizeOf(pattern));
    return pattern.test(text);
  };
}

/** Tests a field if it exists. A missing field never matches. */
function onField(name: Section, field: Field, { fields }: CompileContext, isWanted: (seen: Seen) => boolean): Leaf {
  const step = fields.intern(field);
  const section = SECTION[name];
  return {
    test(look) {
      const seen = seenIn(look, section, step);
      return seen !== null && isWanted(seen);
    },
    saw: (look) => showField(look, section, step),
  };
}

/** A condition about text matches strings only, not a number that looks the same. */
function onString(name: Section, field: Field, { fields }: CompileContext, isWanted: TextTest): Leaf {
  const step = fields.intern(field);
  const section = SECTION[name];
  return {
    test(look) {
      const seen = seenIn(look, section, step);
      const text = seen === null ? null : textOf(seen);
      return text !== null && isWanted(look, text);
    },
    saw: (look) => showField(look, section, step),
  };
}

/** Equality, with a shortcut for strings, because no other condition is used as often. */
function onEqual(name: Section, field: Field, context: CompileContext, value: Json): Leaf {
  if (typeof value !== "string") return onField(name, field, context, isValue(value));
  const step = context.fields.intern(field);
  const section = SECTION[name];
  return {
    test(look) {
      const seen = seenIn(look, section, step);
      return seen !== null && textOf(seen) === value;
    },
    saw: (look) => showField(look, section, step),
  };
}

/** The value at the end of a path in a section, or null. */
function seenIn(look: Look, section: number, step: FieldStep): Seen | null {
  const memo = memoOf(look, section);
  return memo === null ? null : lookUp(memo, step);
}

function showField(look: Look, section: number, step: FieldStep): string {
  const seen = seenIn(look, section, step);
  if (seen === null) return "(missing)";
  // Do not decode more of a long value than is shown.
  const { start, end } = spanOf(seen);
  return showText(seen.bytes.toString("utf8", start, Math.min(end, start + 4 * MAX_SHOWN)), MAX_SHOWN);
}

function show(value: string | number | null): string {
  return value === null ? "(missing)" : showText(String(value), MAX_SHOWN);
}
