import type { TextChange } from "./texts.ts";

/** Makes a change that cuts texts to so many characters, and says how much was cut. */
export function createTruncation(maxCharacters: number): TextChange {
  return (text, key) => {
    // No character takes less than one unit: most texts are short enough at a glance.
    if (text.length <= maxCharacters || isKept(text, key)) return text;
    const end = endOfCharacters(text, maxCharacters);
    if (end === text.length || NOTICE.test(text.slice(end))) return text;
    return `${text.slice(0, end)}… [${countCharacters(text, end)} more characters]`;
  };
}

// What was cut before is not cut again for what it says about that.
const NOTICE = /^… \[\d{1,8} more characters\]$/;

/** What is no text: names that clients look things up by, and data of images and sound, of which a part is nothing. */
function isKept(text: string, key: string | null): boolean {
  if (key === null) return false;
  if (NAMES.has(key)) return text.length <= MAX_NAME_CHARACTERS;
  return DATA.has(key) && BASE64.test(text);
}

const NAMES = new Set(["type", "name", "uri", "mimeType", "role", "method"]);
const MAX_NAME_CHARACTERS = 1024;
const DATA = new Set(["data", "blob"]);
const BASE64 = /^[\w+/-]*={0,2}$/;

/** Where so many characters end: never in the middle of one. */
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
