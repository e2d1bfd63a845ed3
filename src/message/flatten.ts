import { isAscii } from "node:buffer";
import { CR, LF, SPACE } from "./characters.ts";
import type { Payload } from "./message.ts";

/**
 * A message on one line. In valid JSON a raw line break can only stand between tokens, where a
 * space says the same; so nothing else changes, and where there is none nothing is copied.
 */
export function flatten({ bytes, start, end }: Payload): Buffer {
  const part = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
  if (!part.includes(LF) && !part.includes(CR)) return part;
  const flat = Buffer.from(part);
  for (let at = 0; at < flat.length; at++) if (flat[at] === LF || flat[at] === CR) flat[at] = SPACE;
  return flat;
}

/**
 * A message on one line, as it can stand in an event stream. Some readers also end lines at U+0085, U+2028 and U+2029,
 * which may stand in the strings of JSON; an escape says the same there. All other messages stay what they are.
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
