import { createFinder, type Finder } from "./finder.ts";

// Secrets that have no shape of their own: they are known by the name that stands before them. What only looks like one,
// such as a type in a program or a placeholder in a manual, is sorted out by its value.

/** What stands between a name and its value: `api_key=`, `"apiKey": "`, `api-key : `. */
const BETWEEN = String.raw`["'\\]{0,2}[ \t]{0,3}(?::=|[:=])[ \t]{0,3}["'\\]{0,2}`;

/** The names of keys and tokens, with words before them or without: `OPENAI_API_KEY`, `client-secret`, `authToken`. */
const KEY_NAMES = String.raw`(?:api|access|auth|secret|private|client|service|session|refresh|signing|encryption)[_-]?(?:key|token|secret)|api[_-]?token|secret`;

const PASSWORD_NAMES = "password|passwd|passphrase|pwd";

/** `api_key=…`, `client_secret: …` and the like. The name is not part of it. */
export const API_KEYS: Finder = createFinder(
  /(?:[kK]ey|KEY|[tT]oken|TOKEN|[sS]ecret|SECRET)["'\\]{0,2}[ \t]{0,3}[:=]/,
  new RegExp(String.raw`(?<=(?:${KEY_NAMES})${BETWEEN})[\w.~+/=-]{12,}`, "gi"),
  isRandom,
);

/** `password: …`, in quotes or without. */
export const PASSWORDS: Finder = createFinder(
  /(?:[pP]ass|PASS|[pP]wd|PWD)\w{0,8}["'\\]{0,2}[ \t]{0,3}[:=]/,
  new RegExp(String.raw`(?<=(?:${PASSWORD_NAMES})${BETWEEN})[^\s"'\\<>(){}[\],;|&\x60]{4,}`, "gi"),
  isPassword,
);

/** The credentials of an `Authorization` header, and those behind the word `Bearer`. */
export const AUTHORIZATION: Finder = createFinder(
  /[aA]uthorization|AUTHORIZATION|[bB]earer|BEARER/,
  new RegExp(
    String.raw`(?<=authorization${BETWEEN}(?:bearer|basic|token|digest)[ \t]{1,3})[\w.~+/=-]{8,}|(?<=\bbearer[ \t]{1,3})[\w.~+/=-]{20,}`,
    "gi",
  ),
  (text) => isRandom(text) || isBasic(text),
);

/** Whether it is a name and a password, as `Basic` has them. */
function isBasic(text: string): boolean {
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(text, "base64").toString("latin1"));
}

const KEY = new RegExp(`(?:${KEY_NAMES})$`, "i");
const PASSWORD = new RegExp(`(?:${PASSWORD_NAMES})$`, "i");

/** Whether the value of a member with this name is a secret, as a whole. */
export function isSecretMember(kind: "api_key" | "password", name: string, text: string): boolean {
  if (kind === "api_key") return KEY.test(name) && /^[\w.~+/=-]{12,}$/.test(text) && isRandom(text);
  // In data a word is a password as well, and not the name of a type or of a variable.
  return (
    PASSWORD.test(name) && text.length <= MAX_PASSWORD_CHARACTERS && /^\S{4,}$/.test(text) && !STANDS_IN.test(text)
  );
}

const MAX_PASSWORD_CHARACTERS = 200;

/**
 * Whether a text was drawn by chance and not written: letters and digits mixed. Names in programs (`this.apiKey`), words,
 * placeholders (`YOUR_API_KEY`, `xxxxxxxx`) and versions are not.
 */
function isRandom(text: string): boolean {
  const bare = text.replace(/=+$/, "");
  if (!/\d/.test(bare) || !/[a-z]/i.test(bare) || STANDS_IN.test(bare)) return false;
  // A path, a name with dots, or words that are joined: each piece is a word or a number.
  if (bare.split(/[._/=+~-]/).every((piece) => /^(?:[a-z]*|[A-Z][a-z]*|[A-Z]*|\d{1,4}|[a-z]+\d{1,2})$/.test(piece)))
    return false;
  return new Set(bare.toLowerCase()).size >= Math.min(8, bare.length / 2);
}

/** Whether a text is a password that somebody chose: not a type, a name in a program or a word that stands for one. */
function isPassword(text: string): boolean {
  const bare = text.replace(/[.:?!]+$/, "");
  if (bare.length < 4 || STANDS_IN.test(bare) || NOT_CHOSEN.test(bare)) return false;
  // Something in it that names in programs do not have, or a digit among letters.
  return /[^\w.$-]/.test(bare) || (/\d/.test(bare) && /[a-z]/i.test(bare));
}

// A number in hexadecimal digits, a path, an address, or a member of something in a program.
const NOT_CHOSEN = /^(?:0x[\da-f]+|[~.]{0,2}\/.*|https?:.*|[a-z_$][\w$]*(?:\.[a-z_$][\w$]*)+)$/i;

const STANDS_IN =
  /^(?:[x*.•_#-]+|\$.*|%.*%|your.*|my[_-].*|example.*|placeholder.*|redacted|secret|password|passwd|token|none|null|undefined|true|false|string|test(?:ing)?\d*)$/i;
