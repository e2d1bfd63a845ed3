/**
 * A text to compare with, four bytes at a time: its length, its first four bytes, its last four, and those between. The
 * last four may overlap with others. Texts shorter than MIN_WORDS_LENGTH cannot be compared in this way.
 */
export interface Words {
  readonly length: number;
  readonly first: number;
  readonly last: number;
  readonly between: Int32Array;
}

/** The length of the shortest text that can be compared. */
export const MIN_WORDS_LENGTH = 4;

/** Takes the text at a span. */
export function takeWords(view: DataView, start: number, end: number): Words {
  const length = end - start;
  const between = new Int32Array(Math.max(0, Math.ceil(length / 4) - 2));
  between.forEach((_, nth) => (between[nth] = view.getInt32(start + 4 * nth + 4, true)));
  return { length, first: view.getInt32(start, true), last: view.getInt32(end - 4, true), between };
}

/** Whether the text is at this offset, and does not extend beyond `end`. */
export function isAt({ length, first, last, between }: Words, view: DataView, at: number, end: number): boolean {
  if (at + length > end || view.getInt32(at, true) !== first) return false;
  if (view.getInt32(at + length - 4, true) !== last) return false;
  for (let nth = 0; nth < between.length; nth++) {
    if (view.getInt32(at + 4 * nth + 4, true) !== between[nth]) return false;
  }
  return true;
}

// Cached, because one buffer often holds many messages.
let viewed: Buffer | null = null;
let view: DataView = new DataView(new ArrayBuffer(0));
const MAX_KEPT_BYTES = 131_072;

/** A view of a buffer, to read four bytes at a time. Created once for all messages in the buffer. */
export function viewOf(bytes: Buffer): DataView {
  if (bytes === viewed) return view;
  const { buffer } = bytes;
  const made = new DataView(buffer, bytes.byteOffset, bytes.length);
  if (buffer.byteLength > MAX_KEPT_BYTES) return made; // a cached buffer is not freed before the next message arrives
  viewed = bytes;
  view = made;
  return made;
}
