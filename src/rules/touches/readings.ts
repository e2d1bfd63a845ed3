import { type Budget, Spent, spendSteps, withoutMarks } from "./names.ts";
import { foldPath } from "./patterns.ts";

/**
 * All decodings of a text that a server may use as a path, folded: the text itself, with URI escapes resolved, with
 * JSON and shell escapes resolved, and with both, each applied any number of times.
 */
export function decodings(text: string, budget: Budget): Set<string> {
  const plain = fold(withoutMarks(text), budget);
  const texts = new Set([plain]);
  if (!/[%\\]|&#/.test(plain)) return texts;
  const unescaped = unescape(plain, budget);
  let decoded = decodePercent(plain, budget);
  texts.add(unescaped).add(decoded);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const next = decodePercent(unescape(decoded, budget), budget);
    if (next === decoded) return texts;
    texts.add(next);
    decoded = next;
  }
  // Only an attacker encodes a text so many times.
  throw new Spent();
}

/** How deep escapes of both kinds may be nested. */
const MAX_ROUNDS = 4;

function fold(text: string, budget: Budget): string {
  spendSteps(budget, text.length + MAX_GROWTH * (text.match(GROWING)?.length ?? 0));
  return foldPath(text);
}

// Characters that fold to several letters, up to eighteen.
const GROWING = /[\u2460-\u24ff\u3200-\u33ff\ufb00-\ufdff]/g;
const MAX_GROWTH = 18;

/** Resolves URI escapes, applied any number of times. */
function decodePercent(text: string, budget: Budget): string {
  if (!text.includes("%")) return text;
  const once = text.replace(/%(?:25)+(?=[0-9a-f]{2}|u[0-9a-f]{4})/g, "%");
  const decoded = once
    .replace(/%u([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(/(?:%[0-9a-f]{2})+/g, decodeRun);
  return decoded === text ? text : fold(withoutMarks(decoded), budget);
}

function decodeRun(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    // Not valid UTF-8. Careless decoders accept overlong encodings of a dot or a slash.
    const ascii = run
      .replace(/%(?:c0|e0%80|f0%80%80)%([a-b][0-9a-f])/g, (_, low: string) => spell(Number.parseInt(low, 16) & 0x3f))
      .replace(/%c1%([89ab][0-9a-f])/g, (_, low: string) => spell(0x40 | (Number.parseInt(low, 16) & 0x3f)));
    return ascii.replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
}

function spell(code: number): string {
  return `%${code.toString(16).padStart(2, "0")}`;
}

/** Resolves the escapes of JSON, programming languages, shells and XML, applied any number of times. */
function unescape(text: string, budget: Budget): string {
  if (!/\\|&#/.test(text)) return text;
  const resolved = text.replace(ESCAPE, (all, ...groups: (string | undefined)[]) => {
    const [four, braced, two, octal, letter, hex, decimal] = groups;
    const code = four ?? braced ?? two ?? hex;
    if (code !== undefined) return safeCharacter(Number.parseInt(code, 16));
    if (octal !== undefined) return safeCharacter(Number.parseInt(octal, 8));
    if (decimal !== undefined) return safeCharacter(Number(decimal));
    return LETTERS[letter ?? ""] ?? letter ?? all;
  });
  return resolved === text ? text : fold(withoutMarks(resolved), budget);
}

// The lookbehind matches a run of backslashes once, from its beginning. Trying each of them would take quadratic time.
const ESCAPE =
  /(?<!\\)\\+(?:u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}|x([0-9a-f]{2})|([0-7]{3})|([nrtbf"'/]))|&#x([0-9a-f]{1,6});|&#(\d{1,7});/g;
const LETTERS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f" };

function safeCharacter(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "";
}
