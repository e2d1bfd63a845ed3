import { CLOSE_ARRAY, CLOSE_OBJECT, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./characters.ts";
import type { Span } from "./envelope.ts";
import { afterString, endOfValue } from "./members.ts";

/** Says where the value ends that begins at a place. */
export type FindEnd = (at: number) => number;

/** In less than this the end of a value is looked for each time. */
const SMALL_BYTES = 65_536;

/** Objects and arrays up to this size are not in the index: to walk over one costs no more than to find it there. */
const MAX_WALKED_BYTES = 16;

/**
 * Makes a way to find the ends of values inside of the value at `span`. Whoever goes through all levels of a value asks for
 * the end of the same bytes once for each level, so those of a large value are all found in one walk. The bytes have been
 * validated.
 */
export function createEndFinder(bytes: Buffer, span: Span): FindEnd {
  if (span.end - span.start < SMALL_BYTES) return (at) => endOfValue(bytes, at);
  const { starts, ends } = indexContainers(bytes, span);
  return (at) => {
    if (bytes[at] !== OPEN_OBJECT && bytes[at] !== OPEN_ARRAY) return endOfValue(bytes, at);
    let low = 0;
    let high = starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (starts[middle] < at) low = middle + 1;
      else high = middle;
    }
    return starts[low] === at ? ends[low] : endOfValue(bytes, at);
  };
}

function indexContainers(bytes: Buffer, span: Span): { readonly starts: Int32Array; readonly ends: Int32Array } {
  let starts = new Int32Array(1024);
  let ends = new Int32Array(1024);
  let count = 0;
  const open: number[] = [];
  for (let at = span.start; at < span.end;) {
    switch (bytes[at]) {
      case QUOTE:
        at = afterString(bytes, at);
        continue;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (count === starts.length) {
          starts = enlarge(starts);
          ends = enlarge(ends);
        }
        starts[count] = at;
        open.push(count++);
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY: {
        const nth = open.pop() ?? 0;
        ends[nth] = at + 1;
        // The last one that was opened has none inside of it that were kept.
        if (at + 1 - starts[nth] <= MAX_WALKED_BYTES && nth === count - 1) count--;
        break;
      }
      default:
    }
    at++;
  }
  return { starts: starts.subarray(0, count), ends: ends.subarray(0, count) };
}

function enlarge(places: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * places.length);
  larger.set(places);
  return larger;
}
