/** The largest number of alternatives that a word is expanded to. */
const MAX_ALTERNATIVES = 64;

/** Longer words are not expanded. People do not write such words in shell commands. */
const MAX_CHARACTERS = 4096;

/** Expands braces like a shell: `a.{b,c}` gives `a.b` and `a.c`. Null if there are too many alternatives. */
export function expandBraces(word: string): string[] | null {
  if (!/\{[^{}]*(?:,|\.\.)[^{}]*\}/.test(word)) return [word];
  if (word.length > MAX_CHARACTERS) return null;
  const done: string[] = [];
  const open = [word];
  while (open.length > 0) {
    const next = open.pop() ?? "";
    const group = /\{([^{}]*)\}/.exec(next);
    const alternatives = group === null ? null : alternativesOf(group[1]);
    if (group === null) done.push(unhide(next));
    else {
      const [before, after] = [next.slice(0, group.index), next.slice(group.index + group[0].length)];
      // Braces without alternatives are literal. They are replaced so that the next round does not match them.
      if (alternatives === null) open.push(`${before}\uE010${group[1]}\uE011${after}`);
      else for (const one of alternatives) open.push(before + one + after);
    }
    if (done.length + open.length > MAX_ALTERNATIVES) return null;
  }
  return done;
}

function unhide(text: string): string {
  return text.replaceAll("\uE010", "{").replaceAll("\uE011", "}");
}

function alternativesOf(inside: string): string[] | null {
  if (inside.includes(",")) return inside.split(",");
  // A range such as {a..z} stands for any character, or any number.
  return /^-?\w+\.\.-?\w+(?:\.\.-?\d+)?$/.test(inside) ? [/\d/.test(inside) ? "*" : "?"] : null;
}
