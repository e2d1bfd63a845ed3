/**
 * Whether a pattern has nothing in it but letters, well-known escapes, simple classes, groups,
 * alternatives and simple repetitions: there is no doubt that it compiles, and to something small.
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

// One item, and behind it at most one repetition; none behind an anchor, a bracket that opens, or a bar.
const CLASS = String.raw`\[\^?(?:a-z|A-Z|0-9|a-f|A-F|[A-Za-z0-9_ ./:@,;=%#~!])+\]`;
const ITEM = String.raw`(?:[A-Za-z0-9_ /:@,;=%#~!&'"<>-]|\\[dDwWsS.\\/()[\]{}*+?|^$-]|\.|${CLASS}|\))`;
const PLAIN = new RegExp(`^(?:${ITEM}[*+?]?|\\^|\\$|\\\\b|\\|(?![*+?])|\\((?:\\?:)?(?![*+?)]))*$`);
