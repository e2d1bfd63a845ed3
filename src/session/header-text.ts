import { isUtf8 } from "node:buffer";

const PREFIX = "=?base64?";
const SUFFIX = "?=";

/** Decodes the text in a header, which is plain or in base64. Null if it is neither. */
export function decodeHeader(value: string): string | null {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX)) return PLAIN.test(value) ? value : null;
  const coded = value.slice(PREFIX.length, -SUFFIX.length);
  const bytes = Buffer.from(coded, "base64");
  return bytes.toString("base64") === coded && isUtf8(bytes) ? bytes.toString("utf8") : null;
}

/** Encodes a text for a header: plain where that is possible, otherwise in base64. */
export function encodeHeader(text: string): string {
  const isPlain = PLAIN.test(text) && text === text.trim() && !(text.startsWith(PREFIX) && text.endsWith(SUFFIX));
  return isPlain ? text : `${PREFIX}${Buffer.from(text).toString("base64")}${SUFFIX}`;
}

const PLAIN = /^[\t\x20-\x7e]*$/;
