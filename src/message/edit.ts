import type { Span } from "./envelope.ts";
import type { Payload } from "./message.ts";

/** One change to the bytes of a message: the bytes at `span` are replaced by `by`. */
export interface Edit {
  readonly span: Span;
  readonly by: Buffer;
}

/** The bytes of a message with all edits applied. No other byte changes. Edits must be in order and not overlap. */
export function splice({ bytes, start, end }: Payload, edits: readonly Edit[]): Buffer {
  const pieces: Buffer[] = [];
  let at = start;
  for (const { span, by } of edits) {
    pieces.push(bytes.subarray(at, span.start), by);
    at = span.end;
  }
  pieces.push(bytes.subarray(at, end));
  return Buffer.concat(pieces);
}

/**
 * The edits that remove elements from an array. Each removal takes one comma and the whitespace around it along, so
 * that the array that is left shows no trace of them.
 */
export function cutElements(elements: readonly Span[], isCut: (index: number) => boolean): Edit[] {
  const edits: Edit[] = [];
  let kept = -1;
  let open = -1;
  for (let index = 0; index <= elements.length; index++) {
    if (index < elements.length && isCut(index)) {
      if (open < 0) open = index;
      continue;
    }
    if (open >= 0) {
      // A cut ends where the next kept element starts. At the end of the array it starts after the last kept element.
      const last = index === elements.length;
      const start = last && kept >= 0 ? elements[kept].end : elements[open].start;
      const end = last ? elements[index - 1].end : elements[index].start;
      edits.push({ span: { start, end }, by: NOTHING });
      open = -1;
    }
    kept = index;
  }
  return edits;
}

const NOTHING = Buffer.alloc(0);
