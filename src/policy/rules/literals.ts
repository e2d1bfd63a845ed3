/**
 * A test for a pattern that is nothing but text, with or without anchors; null for any other. Most
 * patterns of rules are, and to look for a text costs a tenth of running a pattern.
 */
export function literalTest(source: string): ((text: string) => boolean) | null {
  const [, begins, body, ends] = LITERAL.exec(source) ?? [];
  if (body === undefined) return null;
  const wanted = body.replaceAll(/\\(.)/g, "$1");
  if (begins === "^" && ends === "$") return (text) => text === wanted;
  if (begins === "^") return (text) => text.startsWith(wanted);
  if (ends === "$") return (text) => text.endsWith(wanted);
  return (text) => text.includes(wanted);
}

// Plain characters, and escapes of what has a meaning of its own. The anchors are those of the whole
// text: in RE2 a line break at the end is not passed over.
const LITERAL = /^(\^?)((?:[A-Za-z0-9_ /:@,;=%#~!&'"<>-]|\\[\\./()[\]{}*+?|^$-])*)(\$?)$/;
