import { HEADER_ANNOTATION } from "../message/protocol.ts";
import { isPlainText } from "../message/text.ts";

/**
 * Whether the JSON of a definition contains text that a person does not see as a model does: terminal escapes,
 * invisible or reordering characters, escaped or not; or a malformed header annotation.
 */
export function hasOddText(json: string): boolean {
  if (!isPlainText(json) || hasOddHeader(json)) return true;
  return json.includes("\\u") && !isPlainText(unescape(json));
}

/** The text with its `\u` escapes decoded, which is enough to search for characters. */
function unescape(json: string): string {
  return json.replace(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Security: clients of 2026-07-28 use the names in these annotations as HTTP header names. */
function hasOddHeader(json: string): boolean {
  for (let at = json.indexOf(HEADER); at >= 0; at = json.indexOf(HEADER, at + 1)) {
    const rest = json.slice(at + HEADER.length, at + HEADER.length + MAX_HEADER);
    if (/^\s*:\s*"/.test(rest) && !TOKEN.test(rest)) return true;
  }
  return false;
}

const HEADER = `"${HEADER_ANNOTATION}"`;
const MAX_HEADER = 200;
const TOKEN = /^\s*:\s*"[!#$%&'*+.^_`|~\w-]+"/;
