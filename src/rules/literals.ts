/** A pattern that is nothing but text. */
export interface Literal {
  readonly text: string;
  /** Whether the text must begin with it, and end with it. */
  readonly begins: boolean;
  readonly ends: boolean;
}

/**
 * What a pattern looks for, where that is nothing but text, with or without anchors; null for any
 * other. Most patterns of rules are such, and to look for a text costs a tenth of running a pattern.
 */
export function readLiteral(source: string): Literal | null {
  const [, begins, body, ends] = LITERAL.exec(source) ?? [];
  if (body === undefined) return null;
  return { text: body.replaceAll(/\\(.)/g, "$1"), begins: begins === "^", ends: ends === "$" };
}

/** Whether a text has it where it must be. */
export function hasLiteral({ text: wanted, begins, ends }: Literal, text: string): boolean {
  if (begins) return ends ? text === wanted : text.startsWith(wanted);
  return ends ? text.endsWith(wanted) : text.includes(wanted);
}

// Plain characters, and escapes of what has a meaning of its own. The anchors are those of the whole
// text: in RE2 a line break at the end is not passed over.
const LITERAL = /^(\^?)((?:[A-Za-z0-9_ /:@,;=%#~!&'"<>-]|\\[\\./()[\]{}*+?|^$-])*)(\$?)$/;
