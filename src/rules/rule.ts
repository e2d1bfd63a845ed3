import type { Field } from "../message/field.ts";
import type { Json } from "../message/json.ts";
import type { Direction } from "../message/message.ts";
import type { Work } from "./work.ts";

/** A position in a policy file. Lines and columns count from one. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A pattern in a rule: RE2 syntax, run in linear time. */
export interface RulePattern {
  readonly source: string;
  test(text: string): boolean;
  /**
   * The spans of all matches in a text, in order; the cost is added to `work`. Without this method, a text that
   * contains a match is treated as one match as a whole.
   */
  findAll?(text: string, work?: Work): readonly { readonly start: number; readonly end: number }[];
}

/** A parsed text with variables. */
export interface Template {
  readonly text: string;
  readonly parts: readonly (string | TemplateVariable)[];
}

/** A variable in a template. */
export type TemplateVariable =
  | { readonly name: "session_id" | "method" | "tool" | "params_hash" | "client" | "identity" | "direction" }
  | { readonly name: "param"; readonly field: Field };

/** A test on a message. All conditions of a rule must hold. */
export type Condition =
  | { readonly is: "method_equals" | "method_starts_with" | "method_ends_with"; readonly text: string }
  | { readonly is: "method_matches"; readonly pattern: RulePattern }
  | { readonly is: "method_in"; readonly texts: ReadonlySet<string> }
  | { readonly is: "param_exists" | "param_is_null" | "param_is_array" | "result_exists"; readonly field: Field }
  | { readonly is: "param_equals" | "result_equals"; readonly field: Field; readonly value: Json }
  | { readonly is: "param_in"; readonly field: Field; readonly values: readonly Json[] }
  | { readonly is: "param_matches" | "result_matches"; readonly field: Field; readonly pattern: RulePattern }
  | { readonly is: "param_greater_than" | "param_less_than"; readonly field: Field; readonly value: number | bigint }
  | { readonly is: "param_within"; readonly field: Field; readonly paths: readonly string[] }
  | {
      readonly is: "touches";
      readonly paths: readonly string[];
      readonly globs: readonly string[];
      /** The params to look into. Null for everything that the request asks for. */
      readonly fields: readonly Field[] | null;
    }
  | { readonly is: "error_code_equals"; readonly code: number }
  | { readonly is: "error_message_contains"; readonly text: string }
  | { readonly is: "session_id_equals"; readonly text: string }
  | { readonly is: "session_age_greater_than"; readonly milliseconds: number }
  | { readonly is: "calls_so_far"; readonly tool: string | null; readonly greaterThan: number }
  | { readonly is: "state_equals"; readonly key: string; readonly value: Json }
  | { readonly is: "direction"; readonly direction: Direction }
  | { readonly is: "client_matches" | "tool_matches" | "identity_matches"; readonly pattern: RulePattern }
  | { readonly is: "all" | "any"; readonly conditions: readonly Condition[] }
  | { readonly is: "not"; readonly condition: Condition }
  | { readonly is: "cel"; readonly expression: string };

/** What a rule does with a message that it matches. Its actions are carried out in order. */
export type RuleAction =
  | { readonly does: "allow" }
  | { readonly does: "block"; readonly reason: Template; readonly code: number | null }
  | { readonly does: "delay"; readonly milliseconds: number }
  | { readonly does: "set_param" | "set_result"; readonly field: Field; readonly value: Json }
  | { readonly does: "remove_param"; readonly field: Field }
  | {
      readonly does: "inject_error";
      readonly code: number;
      readonly message: Template;
      readonly data: Json | undefined;
    }
  | { readonly does: "transform"; readonly transform: TransformSetting }
  | { readonly does: "log"; readonly level: "error" | "warn" | "info" | "debug"; readonly message: Template }
  | { readonly does: "metric"; readonly name: string; readonly value: number }
  | {
      readonly does: "webhook";
      readonly url: string;
      readonly includeMessage: boolean;
      readonly waits: boolean;
      readonly timeoutMs: number;
      readonly secret: string | null;
      readonly allowPrivate: boolean;
    }
  | { readonly does: "run_script"; readonly path: string; readonly args: readonly string[]; readonly timeoutMs: number }
  | { readonly does: "fork"; readonly copies: number; readonly to: string | null }
  | { readonly does: "cache"; readonly key: Template; readonly ttlMs: number; readonly scope: "private" | "shared" }
  | { readonly does: "rate_limit"; readonly key: Template; readonly limit: number; readonly windowMs: number }
  | { readonly does: "set_state"; readonly key: string; readonly value: Json }
  | { readonly does: "hide" };

/** The action of one kind. */
export type ActionOf<Does extends RuleAction["does"]> = Extract<RuleAction, { readonly does: Does }>;

/** A transform: one that is built in, or one from a user's module. */
export type TransformSetting =
  | {
      readonly kind: "redact";
      readonly kinds: readonly string[];
      readonly patterns: readonly RulePattern[];
      readonly by: string;
    }
  | { readonly kind: "truncate"; readonly maxCharacters: number; readonly field: Field | null }
  | { readonly kind: "strip_control"; readonly field: Field | null }
  | { readonly kind: "json_patch"; readonly operations: readonly Json[] }
  | { readonly kind: "module"; readonly module: string; readonly export: string; readonly options: Json };

/** One rule of a policy. */
export interface Rule {
  readonly id: string;
  readonly name: string;
  /** Whether the rule acts, only reports what it would do, or is disabled. */
  readonly mode: "on" | "observe" | "off";
  readonly priority: number;
  /** Null for both directions. */
  readonly direction: Direction | null;
  readonly conditions: readonly Condition[];
  readonly actions: readonly RuleAction[];
  readonly metadata: { readonly [key: string]: Json };
  readonly place: Place;
}
