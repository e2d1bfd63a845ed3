import { isUtf8 } from "node:buffer";

const PREFIX = "=?base64?";
const SUFFIX = "?=";

/** The text that a header stands for: as it is, or in base64 where it could not stand so. Null where it is neither. */
export function decodeHeader(value: string): string | null {
  if (!value.startsWith(PREFIX) || !value.endsWith(SUFFIX)) return PLAIN.test(value) ? value : null;
  const coded = value.slice(PREFIX.length, -SUFFIX.length);
  const bytes = Buffer.from(coded, "base64");
  return bytes.toString("base64") === coded && isUtf8(bytes) ? bytes.toString("utf8") : null;
}

/** A text as it can stand in a header. */
export function encodeHeader(text: string): string {
  const isPlain = PLAIN.test(text) && text === text.trim() && !(text.startsWith(PREFIX) && text.endsWith(SUFFIX));
  return isPlain ? text : `${PREFIX}${Buffer.from(text).toString("base64")}${SUFFIX}`;
}

const PLAIN = /^[\t\x20-\x7e]*$/;
