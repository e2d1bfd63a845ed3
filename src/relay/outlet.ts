import { Socket } from "node:net";
import type { Writable } from "node:stream";

/** One end of the relay that bytes leave by. Several may write to it; all of them wait when it is full. */
export interface Outlet {
  /** Whether writing more should wait. */
  readonly isFull: boolean;
  /** Nothing more can be written: the reader is gone, or we are done. */
  readonly isClosed: boolean;
  /** Part of a buffer, from `start` to `end`. Neighbours in one buffer leave in one write, at the next flush. */
  forward(bytes: Buffer, start: number, end: number): void;
  /** A message of ours: its bytes and the newline after it. Leaves at once, after all that came before it. */
  writeLine(payload: Buffer): void;
  /** A line like that, which leaves with all others of this turn of the event loop in one write. */
  joinLine(payload: Buffer): void;
  /** Bytes of ours. They leave at once, after all that came before them. */
  write(bytes: Buffer): void;
  flush(): void;
  /** Calls back once, when there is room again or nothing more can be written. */
  whenReady(resume: () => void): void;
  /** Lets what was written leave, and ends. */
  end(): void;
}

/** More than this waiting in a stream makes its writers wait. Above the 16 kB from which on streams tell when they drain. */
const MAX_QUEUED_BYTES = 65_536;
const LF = 0x0a;

/** Makes an outlet of a stream. `onBroken` is called once if its reader goes away; `tapped` sees all bytes that are written. */
export function createOutlet(
  stream: Writable,
  onBroken: (error: Error) => void,
  tapped: ((bytes: Buffer) => void) | null = null,
): Outlet {
  let waiting: (() => void)[] = [];

  // What is to be forwarded: one piece of one buffer.
  let run: Buffer | null = null;
  let runStart = 0;
  let runEnd = 0;

  // Lines that leave when all that has come in now has been looked at.
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
    // Not what write() says: it says no to every large chunk, also to one that is gone already.
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

  // Plain members: an object with getters of its own is kept until a full collection, and there is one for every stream.
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
 * Calls back when a stream has something to write and nothing of it has left for `limitMs`, or at most twice that. A slow
 * reader is no reason to give up. But what it reads is seen only when the system asks for more, and for a Unix socket that
 * is when three quarters of its buffer were read, some 160 kB: the limit must leave a slow reader time for that.
 */
export function whenStuck(stream: Writable, limitMs: number, tell: () => void): void {
  // Pipes and sockets know when the last byte left, also of a large write.
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
