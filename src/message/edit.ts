import type { Span } from "./envelope.ts";
import type { Payload } from "./message.ts";

/** One change to the bytes of a message: what stands at `span` gives way to `by`. */
export interface Edit {
  readonly span: Span;
  readonly by: Buffer;
}

/** The bytes of a message with all edits made, each other byte as it was. Edits are in order and do not overlap. */
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
 * The edits that cut elements out of an array. With each goes one comma and the space around it,
 * so that what is left reads as if they had never been there.
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
      // Before a kept element the cut reaches up to it; at the end it begins behind the last kept one.
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
