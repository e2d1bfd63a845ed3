import { CLOSE_ARRAY, CLOSE_OBJECT, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./characters.ts";
import type { Span } from "./envelope.ts";
import { afterString, endOfValue } from "./members.ts";

/** Returns the end of the value that begins at `at`. */
export type FindEnd = (at: number) => number;

/** Values smaller than this are not indexed: the end is searched for on each call. */
const SMALL_BYTES = 65_536;

/** Objects and arrays up to this size are not in the index: skipping one costs no more than an index lookup. */
const MAX_WALKED_BYTES = 16;

/**
 * Makes a function that finds the ends of values inside the value at `span`. A caller that descends through all levels
 * of a value would read the same bytes once per level, so for a large value all ends are found in one pass. The bytes
 * must have been validated.
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
        // A small container is removed if it is the last entry: then no container inside it is in the index.
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
