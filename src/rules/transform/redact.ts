import type { RulePattern } from "../rule.ts";
import { spend, type Work } from "../work.ts";
import { isSecretMember } from "../sensitive/credentials.ts";
import type { Range } from "../sensitive/finder.ts";
import { kindsOf, SENSITIVE_KINDS, type SensitiveKind } from "../sensitive/kinds.ts";
import type { TextChange } from "./texts.ts";

/** What is redacted, and the text that replaces it. `{kind}` in that text becomes the name of the kind. */
export interface RedactOptions {
  readonly kinds: readonly string[];
  readonly patterns: readonly RulePattern[];
  readonly by: string;
}

/** Creates a change that replaces secrets, personal data and the matches of patterns. */
export function createRedaction({ kinds, patterns, by }: RedactOptions): TextChange {
  const wanted = new Set(kinds.flatMap((name) => kindsOf(name) ?? unknown(name)));
  const holdsSecretKey = wanted.has("aws");
  const named = (["api_key", "password"] as const).filter((kind) => wanted.has(kind));
  // Cheap check first: most texts have nothing to redact.
  const hint = new RegExp(Array.from(wanted, (kind) => SENSITIVE_KINDS[kind].hint.source).join("|") || "(?!)");
  return (text, key, work) => {
    if (text.length === 0) return text;
    // An AWS secret key is any forty characters, so it is recognised by the name of its member.
    if (holdsSecretKey && key !== null && text.length === 40 && SECRET_KEY.test(key)) return fillIn(by, "aws");
    if (key !== null) for (const kind of named) if (isSecretMember(kind, key, text)) return fillIn(by, kind);
    const found: Found[] = [];
    if (hint.test(text)) {
      if (work !== undefined) spend(work, (text.length * wanted.size) >> 3);
      for (const kind of wanted) for (const range of SENSITIVE_KINDS[kind].find(text)) found.push({ ...range, kind });
    }
    for (const pattern of patterns)
      for (const range of places(pattern, text, work)) found.push({ ...range, kind: "pattern" });
    return found.length === 0 ? text : replace(text, found, by);
  };
}

interface Found extends Range {
  readonly kind: SensitiveKind | "pattern";
}

const SECRET_KEY = /secret_?access_?key$/i;

function places(pattern: RulePattern, text: string, work: Work | undefined): readonly Range[] {
  if (pattern.findAll !== undefined) return pattern.findAll(text, work).filter(({ start, end }) => end > start);
  return pattern.test(text) ? [{ start: 0, end: text.length }] : [];
}

/** Overlapping matches are replaced as one, with the kind of the first. */
function replace(text: string, found: Found[], by: string): string {
  found.sort((one, other) => one.start - other.start || other.end - one.end);
  const pieces: string[] = [];
  let at = 0;
  for (let index = 0; index < found.length;) {
    const { start, kind } = found[index];
    let { end } = found[index];
    for (index++; index < found.length && found[index].start < end; index++) end = Math.max(end, found[index].end);
    pieces.push(text.slice(at, start), fillIn(by, kind));
    at = end;
  }
  pieces.push(text.slice(at));
  return pieces.join("");
}

function fillIn(by: string, kind: string): string {
  return by.replaceAll("{kind}", kind);
}

function unknown(name: string): never {
  throw new Error(`nothing of the kind ${name} is known`);
}
