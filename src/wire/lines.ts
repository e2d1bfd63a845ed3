import { isAscii } from "node:buffer";

/** What a line framer hands on. Together, in order, the pieces are the stream. */
export interface LineSink {
  /** A whole line: `bytes` from `start` to `end`, its newline at `end - 1`. `ascii` is said of the whole buffer. */
  line(bytes: Buffer, start: number, end: number, ascii: boolean): void;
  /** A piece of a line that is over the limit and is not kept. `ends` with the piece that has the newline. */
  excess(bytes: Buffer, ends: boolean): void;
  /** What was left without a newline when the stream ended. `whole` is false for the rest of an over-long line. */
  tail(bytes: Buffer, whole: boolean): void;
}

/** Cuts a stream into lines, however it arrives. */
export interface LineFramer {
  /** Hands on the lines of a chunk. What comes back was not looked at, because of a pause: push it later. */
  push(chunk: Buffer): Buffer | null;
  /** Said by the sink while it is handed a line: this one, and no more for now. */
  pause(): void;
  end(): void;
}

/** Makes a framer for newline-delimited messages of at most `maxLineBytes`, the newline not counted. */
export function createLineFramer(maxLineBytes: number, sink: LineSink): LineFramer {
  // Pieces of a line that has not ended yet. Joined once, when it does: joining on every
  // chunk would be quadratic for a large message that arrives in small reads.
  let pieces: Buffer[] = [];
  let held = 0;
  let loose = 0; // how many of the last pieces are small
  let skipping = false;
  let isPaused = false;

  function release(): Buffer[] {
    const kept = pieces;
    pieces = [];
    held = 0;
    loose = 0;
    return kept;
  }

  function hold(piece: Buffer): void {
    pieces.push(piece);
    held += piece.length;
    loose = piece.length < SMALL_PIECE ? loose + 1 : 0;
    // A peer that sends a byte at a time must not make us keep an object for each of them.
    if (loose === MAX_LOOSE) {
      pieces.push(Buffer.concat(pieces.splice(pieces.length - loose)));
      loose = 0;
    }
  }

  function giveUp(): void {
    skipping = true;
    for (const piece of release()) sink.excess(piece, false);
  }

  return {
    push(chunk) {
      let start = 0;
      isPaused = false;
      const ascii = isAscii(chunk);
      while (start < chunk.length) {
        const newline = chunk.indexOf(LF, start);
        if (newline < 0) break;
        const end = newline + 1;
        if (!skipping && held + newline - start > maxLineBytes) giveUp();
        if (skipping) {
          sink.excess(chunk.subarray(start, end), true);
          skipping = false;
        } else if (held === 0) sink.line(chunk, start, end, ascii);
        else {
          const kept = release();
          kept.push(chunk.subarray(start, end));
          const joined = Buffer.concat(kept);
          sink.line(joined, 0, joined.length, isAscii(joined));
        }
        start = end;
        if (isPaused) return start === chunk.length ? null : chunk.subarray(start);
      }
      if (start === chunk.length) return null;
      const rest = start === 0 ? chunk : chunk.subarray(start);
      if (!skipping && held + rest.length > maxLineBytes) giveUp();
      if (skipping) sink.excess(rest, false);
      else hold(rest);
      return null;
    },
    pause() {
      isPaused = true;
    },
    end() {
      if (skipping || held > 0) sink.tail(Buffer.concat(release()), !skipping);
      skipping = false;
    },
  };
}

/** Whether there is nothing but space in a line. Such lines are passed over in silence. */
export function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte !== SPACE && byte !== TAB && byte !== CR && byte !== LF) return false;
  }
  return true;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const SMALL_PIECE = 4096;
const MAX_LOOSE = 256;
