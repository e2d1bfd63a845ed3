import { isAscii } from "node:buffer";
import { CR, LF, SPACE } from "./characters.ts";
import type { Payload } from "./message.ts";

/**
 * A message on one line. In valid JSON a raw line break can only be between tokens, where a space means the same, so
 * each one is replaced by a space. A message without line breaks is not copied.
 */
export function flatten({ bytes, start, end }: Payload): Buffer {
  const part = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
  if (!part.includes(LF) && !part.includes(CR)) return part;
  const flat = Buffer.from(part);
  for (let at = 0; at < flat.length; at++) if (flat[at] === LF || flat[at] === CR) flat[at] = SPACE;
  return flat;
}

/**
 * A message that is safe in an event stream. Some readers also end lines at U+0085, U+2028 and U+2029, which JSON
 * strings may contain; they are replaced by escapes, which mean the same. All other messages are returned unchanged.
 */
export function escapeBreaks(message: Buffer): Buffer {
  if (isAscii(message) || !BREAKS.some((mark) => message.includes(mark))) return message;
  const escaped = message.toString("latin1").replaceAll(BREAK_BYTES, (bytes) => {
    const code = Buffer.from(bytes, "latin1").toString("utf8").charCodeAt(0);
    return `\\u${code.toString(16).padStart(4, "0")}`;
  });
  return Buffer.from(escaped, "latin1");
}

const BREAKS = ["\u0085", "\u2028", "\u2029"].map((text) => Buffer.from(text));
const BREAK_BYTES = /\xc2\x85|\xe2\x80[\xa8\xa9]/g;
