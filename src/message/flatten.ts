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
