import { createFinder, type Finder } from "./finder.ts";

// Secrets without a format of their own are recognised by the name before them. Values that cannot be secrets, such as
// a type in source code or a placeholder in a manual, are excluded by their text.

/** The characters between a name and its value: `api_key=`, `"apiKey": "`, `api-key : `. */
const BETWEEN = String.raw`["'\\]{0,2}[ \t]{0,3}(?::=|[:=])[ \t]{0,3}["'\\]{0,2}`;

/** The names of keys and tokens, with or without words before them: `OPENAI_API_KEY`, `client-secret`, `authToken`. */
const KEY_NAMES = String.raw`(?:api|access|auth|secret|private|client|service|session|refresh|signing|encryption)[_-]?(?:key|token|secret)|api[_-]?token|secret`;

const PASSWORD_NAMES = "password|passwd|passphrase|pwd";

/** The values in `api_key=…`, `client_secret: …` and the like, without the name. */
export const API_KEYS: Finder = createFinder(
  /(?:[kK]ey|KEY|[tT]oken|TOKEN|[sS]ecret|SECRET)["'\\]{0,2}[ \t]{0,3}[:=]/,
  new RegExp(String.raw`(?<=(?:${KEY_NAMES})${BETWEEN})[\w.~+/=-]{12,}`, "gi"),
  isRandom,
);

/** The values in `password: …`, with or without quotes. */
export const PASSWORDS: Finder = createFinder(
  /(?:[pP]ass|PASS|[pP]wd|PWD)\w{0,8}["'\\]{0,2}[ \t]{0,3}[:=]/,
  new RegExp(String.raw`(?<=(?:${PASSWORD_NAMES})${BETWEEN})[^\s"'\\<>(){}[\],;|&\x60]{4,}`, "gi"),
  isPassword,
);

/** The credentials in an `Authorization` header, and those after the word `Bearer`. */
export const AUTHORIZATION: Finder = createFinder(
  /[aA]uthorization|AUTHORIZATION|[bB]earer|BEARER/,
  new RegExp(
    String.raw`(?<=authorization${BETWEEN}(?:bearer|basic|token|digest)[ \t]{1,3})[\w.~+/=-]{8,}|(?<=\bbearer[ \t]{1,3})[\w.~+/=-]{20,}`,
    "gi",
  ),
  (text) => isRandom(text) || isBasic(text),
);

/** Whether a text is a base64-encoded user name and password, as in `Basic` authentication. */
function isBasic(text: string): boolean {
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(text, "base64").toString("latin1"));
}

const KEY = new RegExp(`(?:${KEY_NAMES})$`, "i");
const PASSWORD = new RegExp(`(?:${PASSWORD_NAMES})$`, "i");

/** Whether the whole value of a member with this name is a secret. */
export function isSecretMember(kind: "api_key" | "password", name: string, text: string): boolean {
  if (kind === "api_key") return KEY.test(name) && /^[\w.~+/=-]{12,}$/.test(text) && isRandom(text);
  // In JSON data, unlike in source code, a plain word may be a password, because it cannot be a type or a variable.
  return (
    PASSWORD.test(name) && text.length <= MAX_PASSWORD_CHARACTERS && /^\S{4,}$/.test(text) && !STANDS_IN.test(text)
  );
}

const MAX_PASSWORD_CHARACTERS = 200;

/**
 * Whether a text looks random: a mix of letters and digits. Names in source code (`this.apiKey`), words, placeholders
 * (`YOUR_API_KEY`, `xxxxxxxx`) and version numbers do not.
 */
function isRandom(text: string): boolean {
  const bare = text.replace(/=+$/, "");
  if (!/\d/.test(bare) || !/[a-z]/i.test(bare) || STANDS_IN.test(bare)) return false;
  // A path, a dotted name or joined words: each part is a word or a number.
  if (bare.split(/[._/=+~-]/).every((piece) => /^(?:[a-z]*|[A-Z][a-z]*|[A-Z]*|\d{1,4}|[a-z]+\d{1,2})$/.test(piece)))
    return false;
  return new Set(bare.toLowerCase()).size >= Math.min(8, bare.length / 2);
}

/** Whether a text is a real password, and not a type, a name in source code or a placeholder. */
function isPassword(text: string): boolean {
  const bare = text.replace(/[.:?!]+$/, "");
  if (bare.length < 4 || STANDS_IN.test(bare) || NOT_CHOSEN.test(bare)) return false;
  // It has a character that names in source code do not have, or both digits and letters.
  return /[^\w.$-]/.test(bare) || (/\d/.test(bare) && /[a-z]/i.test(bare));
}

// A hexadecimal number, a path, a URL, or a member expression in source code.
const NOT_CHOSEN = /^(?:0x[\da-f]+|[~.]{0,2}\/.*|https?:.*|[a-z_$][\w$]*(?:\.[a-z_$][\w$]*)+)$/i;

const STANDS_IN =
  /^(?:[x*.•_#-]+|\$.*|%.*%|your.*|my[_-].*|example.*|placeholder.*|redacted|secret|password|passwd|token|none|null|undefined|true|false|string|test(?:ing)?\d*)$/i;
