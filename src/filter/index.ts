// The exports of the filter language for the rest of the code and, later, for programs.
export { type Completion, completeFilter, type Offer } from "./complete.ts";
export { type CompiledFilter, compileFilter, type CompileOptions } from "./compile.ts";
export { type FilterConditions, type RuleCondition, toConditions } from "./conditions.ts";
export {
  AGES,
  type AmountField,
  type BodyField,
  type FieldDefinition,
  type FieldKind,
  type FieldName,
  FIELDS,
  findField,
  type Known,
  type TextField,
  type Unit,
  type Word,
  type WordField,
} from "./fields.ts";
export {
  type Amount,
  type AmountRange,
  type Comparison,
  eachTerm,
  type FieldRef,
  type Filter,
  type FilterNode,
  type FilterTerm,
  hasPattern,
  MAX_DEPTH,
  MAX_FILTER_CHARACTERS,
  MAX_TERMS,
  type Span,
  type TextRef,
  topLevel,
} from "./filter.ts";
export { applyFix, type FilterMistake, type Fix } from "./mistake.ts";
export { type Parsed, parseFilter, type ParseOptions } from "./parse.ts";
export type { CompilePattern, FilterPattern } from "./patterns.ts";
export { printField, printFilter, printNode } from "./print.ts";
export { quote } from "./quoted.ts";
export type { Token, TokenKind } from "./reader.ts";
export { type FilterRow, textAt } from "./row.ts";
export { type Counts, countWithout, type Selection, selectRows, type ViewRow } from "./select.ts";
export { type FindColumn, type SqlColumn, type SqlFilter, type SqlOptions, toSql } from "./sql.ts";
export { checkUsage, type Usage } from "./usage.ts";
