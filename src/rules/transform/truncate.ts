import type { TextChange } from "./texts.ts";

/** Creates a change that cuts texts to a number of characters, and says how many were cut. */
export function createTruncation(maxCharacters: number): TextChange {
  return (text, key) => {
    // Cheap check first: a character has at least one UTF-16 code unit.
    if (text.length <= maxCharacters || isKept(text, key)) return text;
    const end = endOfCharacters(text, maxCharacters);
    if (end === text.length || NOTICE.test(text.slice(end))) return text;
    return `${text.slice(0, end)}… [${countCharacters(text, end)} more characters]`;
  };
}

// The notice at the end of a text that was cut before does not count as text to cut.
const NOTICE = /^… \[\d{1,8} more characters\]$/;

/**
 * Whether a value must stay whole: a name by which clients look things up, or image and audio data, of which a part is
 * useless.
 */
function isKept(text: string, key: string | null): boolean {
  if (key === null) return false;
  if (NAMES.has(key)) return text.length <= MAX_NAME_CHARACTERS;
  return DATA.has(key) && BASE64.test(text);
}

const NAMES = new Set(["type", "name", "uri", "mimeType", "role", "method"]);
const MAX_NAME_CHARACTERS = 1024;
const DATA = new Set(["data", "blob"]);
const BASE64 = /^[\w+/-]*={0,2}$/;

/** The offset after `count` characters, never inside a surrogate pair. */
function endOfCharacters(text: string, count: number): number {
  let at = 0;
  for (; count > 0 && at < text.length; count--) at += isPair(text, at) ? 2 : 1;
  return at;
}

function countCharacters(text: string, from: number): number {
  let count = 0;
  for (let at = from; at < text.length; at += isPair(text, at) ? 2 : 1) count++;
  return count;
}

function isPair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if (unit < 0xd800 || unit > 0xdbff) return false;
  const next = text.charCodeAt(at + 1);
  return next >= 0xdc00 && next <= 0xdfff;
}
