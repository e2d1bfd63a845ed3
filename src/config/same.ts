import { canonicalValue } from "../message/canonical-value.ts";
import type { Condition } from "../rules/rule.ts";
import type { Field } from "../message/field.ts";
import type { Json } from "../message/json.ts";

/** Whether two JSON values are equal. */
export function isEqualJson(one: Json, other: Json): boolean {
  return one === other || canonicalValue(one) === canonicalValue(other);
}

/** A text that is equal for two conditions with the same meaning. Patterns count by source, fields by their steps. */
export function conditionKey(condition: Condition): string {
  const { is } = condition;
  switch (is) {
    case "method_equals":
    case "method_starts_with":
    case "method_ends_with":
    case "error_message_contains":
    case "session_id_equals":
      return `${is} ${condition.text}`;
    case "method_matches":
    case "client_matches":
    case "tool_matches":
    case "identity_matches":
      return `${is} ${condition.pattern.source}`;
    case "method_in":
      return `${is} ${[...condition.texts].sort().join("\0")}`;
    case "param_exists":
    case "param_is_null":
    case "param_is_array":
    case "result_exists":
      return `${is} ${fieldKey(condition.field)}`;
    case "param_equals":
    case "result_equals":
    case "param_greater_than":
    case "param_less_than":
      return `${is} ${fieldKey(condition.field)} ${canonicalValue(condition.value)}`;
    case "param_in":
      return `${is} ${fieldKey(condition.field)} ${condition.values.map(canonicalValue).sort().join("\0")}`;
    case "param_matches":
    case "result_matches":
      return `${is} ${fieldKey(condition.field)} ${condition.pattern.source}`;
    case "param_within":
      return `${is} ${fieldKey(condition.field)} ${condition.paths.join("\0")}`;
    case "touches": {
      const fields = condition.fields?.map(fieldKey).sort().join("\0\0") ?? "\0";
      return [is, ...[...condition.paths].sort(), "\0", ...[...condition.globs].sort(), "\0", fields].join("\0");
    }
    case "error_code_equals":
      return `${is} ${condition.code}`;
    case "session_age_greater_than":
      return `${is} ${condition.milliseconds}`;
    case "calls_so_far":
      return `${is} ${condition.greaterThan} ${condition.tool ?? "\0"}`;
    case "state_equals":
      return `${is} ${condition.key} ${canonicalValue(condition.value)}`;
    case "direction":
      return `${is} ${condition.direction}`;
    case "all":
    case "any":
      return `${is} (${condition.conditions.map(conditionKey).sort().join("\0")})`;
    case "not":
      return `${is} (${conditionKey(condition.condition)})`;
    case "cel":
      return `${is} ${condition.expression}`;
  }
}

/** A text that is equal for two fields that refer to the same member. */
export function fieldKey({ steps }: Field): string {
  return steps.length === 1 ? String(steps[0]) : steps.join("\0");
}
