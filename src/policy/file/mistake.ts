/** What kind of mistake it is: for programs, which should not have to read sentences. */
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

/** Something in a policy file that has to be mended, or should be looked at. */
export interface Mistake {
  readonly severity: "error" | "warning";
  readonly code: MistakeCode;
  readonly file: string;
  /** Lines and columns count from one. */
  readonly line: number;
  readonly column: number;
  /** The keys that lead there, such as `interceptor.rules[3].priority`. Empty for the file itself. */
  readonly path: string;
  readonly message: string;
  /** What to do about it. */
  readonly suggestion: string | null;
  /** What it is about, as it stands in the file. Secrets are starred out, here and in the line. */
  readonly text: string;
  readonly excerpt: Excerpt;
}

/** The line of a mistake, or what matters of it. */
export interface Excerpt {
  readonly text: string;
  /** What to point at: an index into the text, and a number of characters. */
  readonly start: number;
  readonly length: number;
}

/** A part of a file that is not as it should be, found by one who knows only that part. */
export interface Flaw {
  readonly code: MistakeCode;
  readonly message: string;
  readonly suggestion: string | null;
  /** Where in the text it is. */
  readonly at: number;
  readonly length: number;
}

/** Whether reading found a flaw rather than what was looked for. */
export function isFlaw(found: object): found is Flaw {
  return (found as Partial<Flaw>).suggestion !== undefined;
}
