import { BACKSLASH } from "./characters.ts";

/** The text of a JSON string, given the bytes between its quotes. The bytes have been validated. */
export function readText(bytes: Buffer, start: number, end: number): string {
  for (let at = start; at < end; at++) {
    if (bytes[at] === BACKSLASH) return JSON.parse(`"${bytes.toString("utf8", start, end)}"`);
  }
  return bytes.toString("utf8", start, end);
}

/** Whether the bytes from `start` to `end` are exactly this ASCII text. */
export function isText(bytes: Buffer, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let at = 0; at < text.length; at++) {
    if (bytes[start + at] !== text.charCodeAt(at)) return false;
  }
  return true;
}

/** Text for people and logs: control, bidi and invisible characters escaped, long text cut. */
export function showText(text: string, maxCharacters = 200): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
  return VISIBLE.test(cut) ? cut : cut.replace(hazards(), escapeCharacter);
}

/** Whether a person sees every character of a text, in the order of its characters. */
export function isPlainText(text: string): boolean {
  return VISIBLE.test(text) || text.search(hazards()) < 0;
}

const VISIBLE = /^[ -~]*$/;

// Characters that can end a line, control a terminal, or hide or reorder text: Cc, Cf, Zl, Zp, lone surrogates, and all
// invisible characters, from variation selectors to the Hangul filler.
let hazardous: RegExp | undefined;
function hazards(): RegExp {
  return (hazardous ??= /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu);
}

function escapeCharacter(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return point > 0xffff ? `\\u{${point.toString(16)}}` : `\\u${point.toString(16).padStart(4, "0")}`;
}
