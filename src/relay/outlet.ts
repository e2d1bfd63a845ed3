import { Socket } from "node:net";
import type { Writable } from "node:stream";

/** One output of the relay. Several writers may share it; all of them wait when it is full. */
export interface Outlet {
  /** Whether writers should wait. */
  readonly isFull: boolean;
  /** Whether nothing more can be written: the reader is gone, or the output was ended. */
  readonly isClosed: boolean;
  /**
   * Forwards part of a buffer, from `start` to `end`. Adjacent parts of one buffer leave in one write at the next
   * flush.
   */
  forward(bytes: Buffer, start: number, end: number): void;
  /**
   * Writes a message that the proxy composed, with a newline after it. It is written at once, after everything before
   * it.
   */
  writeLine(payload: Buffer): void;
  /** Writes such a line together with all others of this turn of the event loop, in one write. */
  joinLine(payload: Buffer): void;
  /** Writes bytes at once, after everything before them. */
  write(bytes: Buffer): void;
  flush(): void;
  /** Calls back once, when there is room again or nothing more can be written. */
  whenReady(resume: () => void): void;
  /** Writes what is buffered, and ends the stream. */
  end(): void;
}

/**
 * Writers have to wait when more bytes than this are buffered in the stream. It is above the 16 kB from which streams
 * emit `drain`.
 */
const MAX_QUEUED_BYTES = 65_536;
const LF = 0x0a;

/**
 * Makes an outlet for a stream. `onBroken` is called once if the reader goes away; `tapped` receives all bytes that are
 * written.
 */
export function createOutlet(
  stream: Writable,
  onBroken: (error: Error) => void,
  tapped: ((bytes: Buffer) => void) | null = null,
): Outlet {
  let waiting: (() => void)[] = [];

  // What is to be forwarded: one range of one buffer.
  let run: Buffer | null = null;
  let runStart = 0;
  let runEnd = 0;

  // Lines that are written when all input received so far has been processed.
  let lines: Buffer[] = [];
  let lineBytes = 0;

  function release(): void {
    outlet.isFull = false;
    const resumed = waiting;
    waiting = [];
    for (const resume of resumed) resume();
  }

  function flush(): void {
    if (lines.length > 0) writeLines();
    if (run === null) return;
    const bytes = runStart === 0 && runEnd === run.length ? run : run.subarray(runStart, runEnd);
    run = null;
    write(bytes);
  }

  function writeLines(): void {
    const joined = Buffer.allocUnsafe(lineBytes);
    let at = 0;
    for (const line of lines) {
      at += line.copy(joined, at);
      joined[at++] = LF;
    }
    lines = [];
    lineBytes = 0;
    write(joined);
  }

  function write(bytes: Buffer): void {
    if (outlet.isClosed) return;
    if (tapped !== null) tapped(bytes);
    stream.write(bytes);
    // The result of write() is not used: it is false for every large chunk, even for one that has been written already.
    if (stream.writableLength > MAX_QUEUED_BYTES) outlet.isFull = true;
  }

  stream.on("drain", release);
  stream.on("close", () => {
    outlet.isClosed = true;
    release();
  });
  stream.on("error", (error: Error) => {
    if (!outlet.isClosed) onBroken(error);
    outlet.isClosed = true;
    release();
  });

  // Plain members: V8 keeps an object with its own getters until a full collection, and there is one for every stream.
  const outlet: Outlet & { isFull: boolean; isClosed: boolean } = {
    isFull: false,
    isClosed: false,
    forward(bytes, start, end) {
      if (run === bytes && runEnd === start) runEnd = end;
      else {
        flush();
        run = bytes;
        runStart = start;
        runEnd = end;
      }
    },
    writeLine(payload) {
      flush();
      const line = Buffer.allocUnsafe(payload.length + 1);
      payload.copy(line);
      line[payload.length] = LF;
      write(line);
    },
    joinLine(payload) {
      if (run !== null) flush();
      if (lines.length === 0) setImmediate(flush);
      lines.push(payload);
      lineBytes += payload.length + 1;
      if (lineBytes > MAX_QUEUED_BYTES) flush();
    },
    write(bytes) {
      flush();
      write(bytes);
    },
    flush,
    whenReady(resume) {
      if (outlet.isFull && !outlet.isClosed) waiting.push(resume);
      else resume();
    },
    end() {
      flush();
      if (outlet.isClosed) return;
      outlet.isClosed = true;
      stream.end();
      release();
    },
  };
  return outlet;
}

/**
 * Calls back when a stream has bytes to write and none of them has left for `limitMs`, or at most twice that. A slow
 * reader is not a reason to give up. But the proxy notices reading only when the system asks for more, and for a Unix
 * socket that happens after three quarters of its buffer were read, some 160 kB: the limit must leave a slow reader
 * time for that.
 */
export function whenStuck(stream: Writable, limitMs: number, tell: () => void): void {
  // Pipes and sockets know when the last byte was written, even of a large write.
  if (stream instanceof Socket) {
    stream.setTimeout(limitMs, () => {
      if (stream.writableLength > 0) tell();
    });
    return;
  }
  let before = -1;
  const timer = setInterval(() => {
    const { writableLength } = stream;
    if (writableLength > 0 && writableLength === before) tell();
    before = writableLength;
  }, limitMs).unref();
  stream.once("close", () => clearInterval(timer));
}
