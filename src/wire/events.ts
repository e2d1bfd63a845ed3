import { type EventFrame, nextLineEnd, readEvent } from "./event-fields.ts";
import { createPieces } from "./pieces.ts";

/** Receives the output of an event framer. All frames, excess and the tail, in order, are the exact stream. */
export interface EventSink {
  event(frame: EventFrame): void;
  /** A part of an event that is over the limit and is not kept. `ends` is true for its last part. */
  excess(bytes: Buffer, ends: boolean): void;
  /** The bytes after the last blank line when the stream ended. Readers discard such an event. */
  tail(bytes: Buffer): void;
}

/** Cuts an event stream into events, wherever its chunks are cut. Lines end with LF, CR or CRLF, also mixed. */
export interface EventFramer {
  push(chunk: Buffer): void;
  /** How much memory the incomplete event takes. */
  weight(): number;
  end(): void;
}

/** Makes a framer for events of at most `maxEventBytes`, including all their lines. */
export function createEventFramer(maxEventBytes: number, sink: EventSink): EventFramer {
  const pieces = createPieces(); // of an event that has not ended yet
  let skipping = false;
  let atLineStart = true;
  let afterCr = false; // if the next byte is an LF, it belongs to the CR before it
  let isFirst = true; // only the first event of a stream may begin with a byte order mark

  /** The end of the event in the chunk, or -1. */
  function findEnd(chunk: Buffer, from: number, hasCr: boolean): number {
    let at = from;
    while (at < chunk.length) {
      const byte = chunk[at];
      if (afterCr) {
        afterCr = false;
        if (byte === LF) {
          at++;
          continue;
        }
      }
      if (byte === LF || byte === CR) {
        afterCr = byte === CR;
        at++;
        if (!atLineStart) {
          atLineStart = true;
          continue;
        }
        // The LF of a CRLF belongs to the event, too: some readers wait for it before they dispatch the event.
        if (!afterCr || chunk[at] !== LF) return at;
        afterCr = false;
        return at + 1;
      }
      atLineStart = false;
      at = hasCr ? nextLineEnd(chunk, at) : chunk.indexOf(LF, at);
      if (at < 0) return -1;
    }
    return -1;
  }

  function giveUp(): void {
    skipping = true;
    pieces.release((piece) => sink.excess(piece, false));
  }

  function hand(bytes: Buffer, start: number, end: number, hasCr: boolean): void {
    const begin = isFirst ? start + bomLength(bytes, start) : start;
    isFirst = false;
    sink.event(readEvent(bytes, start, begin, end, hasCr));
  }

  return {
    push(chunk) {
      let start = 0;
      const hasCr = chunk.includes(CR); // once for all events of the chunk: a search for each event would be quadratic
      if (afterCr && pieces.size === 0 && atLineStart && !skipping && chunk[0] === LF) {
        // The LF of a CRLF whose CR ended the previous event. The code that forwarded that event has written it
        // already.
        afterCr = false;
        start = 1;
        sink.event({ ...readEvent(chunk, 0, 0, 1, false), isPlain: false });
      }
      while (start < chunk.length) {
        const end = findEnd(chunk, start, hasCr);
        const size = (end < 0 ? chunk.length : end) - start;
        if (!skipping && pieces.size + size > maxEventBytes) giveUp();
        if (skipping) {
          sink.excess(chunk.subarray(start, end < 0 ? chunk.length : end), end >= 0);
          if (end >= 0) skipping = isFirst = false;
        } else if (end < 0) {
          pieces.push(start === 0 ? chunk : chunk.subarray(start));
        } else if (pieces.size === 0) hand(chunk, start, end, hasCr);
        else {
          pieces.push(chunk.subarray(start, end));
          const joined = pieces.join();
          hand(joined, 0, joined.length, joined.includes(CR));
        }
        if (end < 0) return;
        atLineStart = true;
        start = end;
      }
    },
    weight: () => pieces.weight,
    end() {
      if (pieces.size > 0) sink.tail(pieces.join());
    },
  };
}

const LF = 0x0a;
const CR = 0x0d;

function bomLength(bytes: Buffer, at: number): number {
  return bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf ? 3 : 0;
}
