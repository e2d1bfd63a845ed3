import { isAscii } from "node:buffer";
import { createPieces } from "./pieces.ts";

/** Receives the output of a line framer. All lines, excess and the tail, in order, are the exact stream. */
export interface LineSink {
  /** A complete line: `bytes` from `start` to `end`, newline at `end - 1`. `ascii` applies to the whole buffer. */
  line(bytes: Buffer, start: number, end: number, ascii: boolean): void;
  /** A part of a line that is over the limit and is not kept. `ends` is true for the part with the newline. */
  excess(bytes: Buffer, ends: boolean): void;
  /** The bytes after the last newline when the stream ended. `whole` is false for the rest of a line over the limit. */
  tail(bytes: Buffer, whole: boolean): void;
}

/** Cuts a stream into lines, wherever its chunks are cut. */
export interface LineFramer {
  /**
   * Passes the lines of a chunk to the sink. Returns the bytes that were not read because of a pause: push them later.
   */
  push(chunk: Buffer): Buffer | null;
  /** The sink calls this while it receives a line, to get no further lines for now. */
  pause(): void;
  end(): void;
}

/** Makes a framer for newline-delimited messages of at most `maxLineBytes`, without the newline. */
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

/** Whether a line contains only whitespace. Such lines are ignored. */
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
