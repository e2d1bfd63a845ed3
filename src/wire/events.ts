import { type EventFrame, nextLineEnd, readEvent } from "./event-fields.ts";
import { createPieces } from "./pieces.ts";

/** What an event framer hands on. The frames, pieces and tail together, in order, are the stream. */
export interface EventSink {
  event(frame: EventFrame): void;
  /** A piece of an event that is over the limit and is not kept. `ends` with the last of it. */
  excess(bytes: Buffer, ends: boolean): void;
  /** What was left without a blank line when the stream ended. Such an event does not count. */
  tail(bytes: Buffer): void;
}

/** Cuts an event stream into events, however it arrives. Lines end with LF, CR or CRLF, also mixed. */
export interface EventFramer {
  push(chunk: Buffer): void;
  /** How much memory the event takes up that is not whole yet. */
  weight(): number;
  end(): void;
}

/** Makes a framer for events of at most `maxEventBytes`, all their lines counted. */
export function createEventFramer(maxEventBytes: number, sink: EventSink): EventFramer {
  const pieces = createPieces(); // of an event that has not ended yet
  let skipping = false;
  let atLineStart = true;
  let afterCr = false; // an LF that comes now belongs to the line end before it
  let isFirst = true; // only what begins a stream may begin with a BOM

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
        // All of a CRLF belongs to the event: readers wait for the LF before they take it for whole.
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
      const hasCr = chunk.includes(CR); // once for all its events: looking for each would be quadratic
      if (afterCr && pieces.size === 0 && atLineStart && !skipping && chunk[0] === LF) {
        // The second half of a CRLF whose first half ended the last event. Who sent that on has written it already.
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
