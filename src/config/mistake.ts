/** The kind of a mistake, for programs, so that they need not parse messages. */
export type MistakeCode =
  | "syntax"
  | "unknown-key"
  | "repeated-key"
  | "missing-key"
  | "wrong-type"
  | "wrong-value"
  | "bad-duration"
  | "bad-size"
  | "bad-url"
  | "bad-port"
  | "bad-header"
  | "bad-field"
  | "bad-pattern"
  | "not-re2"
  | "unsafe-pattern"
  | "bad-expression"
  | "bad-template"
  | "unknown-variable"
  | "unset-variable"
  | "repeated-id"
  | "never-matches"
  | "not-yet"
  | "too-large"
  | "too-deep"
  | "too-many-aliases"
  | "too-many-mistakes"
  | "shadowed"
  | "legacy-mode"
  | "no-effect"
  | "dead-branch"
  | "unknown-method"
  | "unknown-member"
  | "leaky-condition"
  | "handshake"
  | "missing-file"
  | "unknown-tool"
  | "unknown-argument"
  | "empty-file";

/** A mistake in a policy file that has to be fixed, or a warning. */
export interface Mistake {
  readonly severity: "error" | "warning";
  readonly code: MistakeCode;
  readonly file: string;
  /** Lines and columns count from one. */
  readonly line: number;
  readonly column: number;
  /** The path of keys, such as `interceptor.rules[3].priority`. Empty for the file itself. */
  readonly path: string;
  readonly message: string;
  /** What to do about it. */
  readonly suggestion: string | null;
  /** The source text that the mistake is about. Secrets are starred out, here and in the excerpt. */
  readonly text: string;
  readonly excerpt: Excerpt;
}

/** The line with the mistake, or the relevant part of it. */
export interface Excerpt {
  readonly text: string;
  /** The range to mark: an index into the text, and a number of characters. */
  readonly start: number;
  readonly length: number;
}

/** A mistake in the text of one value, found by a parser that does not know the rest of the file. */
export interface Flaw {
  readonly code: MistakeCode;
  readonly message: string;
  readonly suggestion: string | null;
  /** The offset in the text of the value. */
  readonly at: number;
  readonly length: number;
}

/** Whether a parser returned a flaw instead of a value. */
export function isFlaw(found: object): found is Flaw {
  return (found as Partial<Flaw>).suggestion !== undefined;
}
