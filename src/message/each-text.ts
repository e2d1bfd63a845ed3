import { CLOSE_ARRAY, CLOSE_OBJECT, COLON, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./characters.ts";
import type { Span } from "./envelope.ts";
import { afterString, endOfValue, skipSpace } from "./members.ts";

/** One string of a message. */
export interface TextPlace {
  /** With its quotes. */
  readonly start: number;
  readonly end: number;
  readonly isKey: boolean;
  /** In how many objects and arrays of the value it stands: 1 for a member of the value itself, 0 for a value that is a string. */
  readonly depth: number;
}

/**
 * Calls `visit` for each string in the value at `span`, keys included, in order. Where it says false of a key, the
 * member's value is not looked into. The bytes have been validated; they are walked over once, however deep they are.
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
