/**
 * Whether a pattern has only letters, common escapes, simple classes, groups, alternatives and simple repetitions. Such
 * a pattern is certain to compile, and to a small program.
 */
export function isPlainPattern(source: string): boolean {
  if (source.length > MAX_PLAIN_CHARACTERS || !PLAIN.test(source)) return false;
  let open = 0;
  for (let at = 0; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at++;
    else if (character === "(") open++;
    else if (character === ")" && --open < 0) return false;
  }
  return open === 0;
}

const MAX_PLAIN_CHARACTERS = 256;

// Each item has at most one repetition after it. An anchor, an opening parenthesis and a bar have none.
const CLASS = String.raw`\[\^?(?:a-z|A-Z|0-9|a-f|A-F|[A-Za-z0-9_ ./:@,;=%#~!])+\]`;
const ITEM = String.raw`(?:[A-Za-z0-9_ /:@,;=%#~!&'"<>-]|\\[dDwWsS.\\/()[\]{}*+?|^$-]|\.|${CLASS}|\))`;
const PLAIN = new RegExp(`^(?:${ITEM}[*+?]?|\\^|\\$|\\\\b|\\|(?![*+?])|\\((?:\\?:)?(?![*+?)]))*$`);
