import { BACKSLASH } from "./characters.ts";
import type { Span } from "./envelope.ts";
import { readText } from "./text.ts";

/** Reads strings that recur, such as names of tools, from a cache instead of decoding them each time. */
export interface NameReader {
  /** The text of the string at `span`, which includes the quotes. */
  read(bytes: Buffer, span: Span): string;
}

/** How many texts are cached: a power of two. */
const PLACES = 64;
/** Longer texts are not cached. */
const MAX_BYTES = 64;

/** Makes a reader. Strings with escapes are not cached. */
export function createNameReader(): NameReader {
  const known: ({ readonly bytes: Buffer; readonly text: string } | undefined)[] = Array.from({ length: PLACES });

  return {
    read(bytes, span) {
      const start = span.start + 1;
      const end = span.end - 1;
      const length = end - start;
      if (length === 0 || length > MAX_BYTES) return readText(bytes, start, end);
      const place = (length * 7 + bytes[start] * 3 + bytes[end - 1]) & (PLACES - 1);
      const entry = known[place];
      if (entry !== undefined && entry.bytes.length === length) {
        let same = 0;
        while (same < length && entry.bytes[same] === bytes[start + same]) same++;
        if (same === length) return entry.text;
      }
      const text = readText(bytes, start, end);
      const copy = Buffer.from(bytes.subarray(start, end));
      if (!copy.includes(BACKSLASH)) known[place] = { bytes: copy, text };
      return text;
    },
  };
}
