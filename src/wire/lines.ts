import { isAscii } from "node:buffer";
import { createPieces } from "./pieces.ts";

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
  const pieces = createPieces(); // of a line that has not ended yet
  let skipping = false;
  let isPaused = false;

  function giveUp(): void {
    skipping = true;
    pieces.release((piece) => sink.excess(piece, false));
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
        if (!skipping && pieces.size + newline - start > maxLineBytes) giveUp();
        if (skipping) {
          sink.excess(chunk.subarray(start, end), true);
          skipping = false;
        } else if (pieces.size === 0) sink.line(chunk, start, end, ascii);
        else {
          pieces.push(chunk.subarray(start, end));
          const joined = pieces.join();
          sink.line(joined, 0, joined.length, isAscii(joined));
        }
        start = end;
        if (isPaused) return start === chunk.length ? null : chunk.subarray(start);
      }
      if (start === chunk.length) return null;
      const rest = start === 0 ? chunk : chunk.subarray(start);
      if (!skipping && pieces.size + rest.length > maxLineBytes) giveUp();
      if (skipping) sink.excess(rest, false);
      else pieces.push(rest);
      return null;
    },
    pause() {
      isPaused = true;
    },
    end() {
      if (skipping || pieces.size > 0) sink.tail(pieces.join(), !skipping);
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
