import type { Span } from "../../message/envelope.ts";
import { showText } from "../../message/text.ts";
import type { CelTest } from "./cel.ts";
import { type FieldStep, type FieldTable, kindAt, numberAt } from "./fields.ts";
import { compareDecimals, decimalOf, readDecimal } from "./numbers.ts";
import { within } from "./paths.ts";
import { MAX_MATCHED_CHARACTERS } from "./patterns.ts";
import type { Condition, Field, RulePattern } from "./rule.ts";
import { Unjudgeable } from "./unjudgeable.ts";
import { equalTo, equalToAny } from "./values.ts";
import { type Look, memoOf, partOf, type Section, spend, toolOf } from "./view.ts";

/** A condition that has no others in it, ready to be asked. */
export interface Leaf {
  /** Whether it holds. Throws where that cannot be judged. */
  test(look: Look): boolean;
  /** What it looked at, for people. */
  saw(look: Look): string;
}

/** A condition without others in it. */
export type LeafCondition = Exclude<Condition, { readonly is: "all" | "any" | "not" }>;

/** What conditions are compiled with. */
export interface CompileContext {
  readonly fields: FieldTable;
  /** Needed where an expression is among the conditions. It has been compiled before, without a problem. */
  readonly cel: ((expression: string) => CelTest) | null;
}

/** Gets one condition ready. */
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
      return onField("params", condition.field, context, (bytes, span) => kindAt(bytes, span) === "null");
    case "param_is_array":
      return onField("params", condition.field, context, (bytes, span) => kindAt(bytes, span) === "array");
    case "param_equals":
      return onField("params", condition.field, context, equalTo(condition.value));
    case "result_equals":
      return onField("result", condition.field, context, equalTo(condition.value));
    case "param_in":
      return onField("params", condition.field, context, equalToAny(condition.values));
    case "param_matches":
      return onString("params", condition.field, context, matching(condition.pattern));
    case "result_matches":
      return onString("result", condition.field, context, matching(condition.pattern));
    case "param_within": {
      const isWithin = within(condition.paths);
      return onString("params", condition.field, context, (_, text) => isWithin(text));
    }
    case "param_greater_than":
    case "param_less_than": {
      const bound = decimalOf(condition.value);
      const sign = condition.is === "param_greater_than" ? 1 : -1;
      return onField("params", condition.field, context, (bytes, span) => {
        const text = numberAt(bytes, span);
        return text !== null && Math.sign(compareDecimals(readDecimal(text), bound)) === sign;
      });
    }
    case "error_code_equals":
      return onField("error", CODE, context, equalTo(condition.code));
    case "error_message_contains":
      return onString("error", MESSAGE, context, (_, text) => text.includes(condition.text));
    case "session_id_equals":
      return onValue(
        ({ view }) => view.session.id,
        (id) => id === condition.text,
      );
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
      if (context.cel === null) throw new Error("an expression, and nothing to compile it with");
      const expression = context.cel(condition.expression);
      return { test: (look) => expression.test(look), saw: (look) => expression.saw(look) };
    }
  }
}

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
  const size = "size" in pattern && typeof pattern.size === "number" ? pattern.size : COMMON_SIZE;
  return (look, text) => {
    if (text.length > MAX_MATCHED_CHARACTERS)
      throw new Unjudgeable(`a text of more than ${MAX_MATCHED_CHARACTERS} characters`);
    spend(look, text.length * size);
    return pattern.test(text);
  };
}

/** What a pattern counts for that does not say how large it is. */
const COMMON_SIZE = 64;

/** What is there is asked. What is missing fits nothing. */
function onField(
  section: Section,
  field: Field,
  { fields }: CompileContext,
  isWanted: (bytes: Buffer, span: Span) => boolean,
): Leaf {
  const step = fields.intern(field);
  return {
    test(look) {
      const span = memoOf(look, section)?.find(step) ?? null;
      return span !== null && isWanted(bytesOf(look, section), span);
    },
    saw: (look) => showField(look, section, step),
  };
}

/** Only text fits a condition about text; a number that looks alike does not. */
function onString(section: Section, field: Field, { fields }: CompileContext, isWanted: TextTest): Leaf {
  const step = fields.intern(field);
  return {
    test(look) {
      const text = memoOf(look, section)?.text(step) ?? null;
      return text !== null && isWanted(look, text);
    },
    saw: (look) => showField(look, section, step),
  };
}

function bytesOf({ view }: Look, section: Section): Buffer {
  return partOf(view, section)?.bytes ?? NOTHING;
}

const NOTHING = Buffer.alloc(0);

function showField(look: Look, section: Section, step: FieldStep | null): string {
  const span = memoOf(look, section)?.find(step) ?? null;
  if (span === null) return "(missing)";
  // Of a long value no more is read than is shown.
  const end = Math.min(span.end, span.start + 4 * MAX_SHOWN);
  return showText(bytesOf(look, section).toString("utf8", span.start, end), MAX_SHOWN);
}

function show(value: string | number | null): string {
  return value === null ? "(missing)" : showText(String(value), MAX_SHOWN);
}

/** So much of a value is shown. */
const MAX_SHOWN = 100;
