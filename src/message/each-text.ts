import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./characters.ts";
import type { Span } from "./envelope.ts";
import { afterString, endOfValue, skipSpace } from "./members.ts";

/** Where one string of a message is. */
export interface TextPlace {
  /** The span includes the quotes. */
  readonly start: number;
  readonly end: number;
  readonly isKey: boolean;
  /** How many objects and arrays of the value contain the string. 0 if the value itself is the string. */
  readonly depth: number;
}

/**
 * Calls `visit` for each string in the value at `span`, keys included, in order. If `visit` returns false for a key,
 * the value of that member is skipped. The bytes must have been validated; they are read in one pass at any depth.
 */
export function eachText(bytes: Buffer, span: Span, visit: (place: TextPlace) => boolean): void {
  let depth = 0;
  for (let at = span.start; at < span.end;) {
    switch (bytes[at]) {
      case QUOTE: {
        const end = afterString(bytes, at);
        const next = skipSpace(bytes, end);
        const isKey = next < span.end && bytes[next] === COLON;
        const goesOn = visit({ start: at, end, isKey, depth });
        at = isKey && !goesOn ? endOfValue(bytes, skipSpace(bytes, next + 1)) : end;
        break;
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        depth++;
        at++;
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth--;
        at++;
        break;
      default:
        at++;
    }
  }
}
