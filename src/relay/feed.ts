import type { Readable } from "node:stream";
import { createLineFramer, type LineSink } from "../wire/lines.ts";

/** Somewhere that messages go, and that may have no room for more. */
export interface Room {
  readonly isFull: boolean;
  whenReady(resume: () => void): void;
  /** Lets go what is still to be sent. */
  flush?(): void;
}

/** Lines that are taken from a stream as fast as what comes of them can leave. */
export interface Feed {
  /** Said by the sink when something has left, onward or back. The rest of the chunk waits where there is no room. */
  left(way: "onward" | "back"): void;
}

/** What a feed is made of. */
export interface FeedOptions {
  readonly source: Readable;
  readonly maxMessageBytes: number;
  readonly sink: LineSink;
  /** Where messages go on, and where answers to their sender go. */
  readonly onward: Room;
  readonly back: Room;
  /** Sees all bytes that come, before anything else does. */
  readonly tapped?: ((bytes: Buffer) => void) | null | undefined;
  /** The source has ended, and all of it was taken. */
  readonly onEnd: () => void;
}

/** Begins to take lines from a stream. */
export function createFeed({ source, maxMessageBytes, sink, onward, back, tapped, onEnd }: FeedOptions): Feed {
  const framer = createLineFramer(maxMessageBytes, sink);
  let answered = false; // since the last rest, something went back
  let held: Buffer | null = null; // what is left of a chunk while there is no room for what comes of it
  let isResting = false;
  let isClosed = false; // nothing more comes
  let ended = false; // and all of it was taken

  /**
   * A slow reader slows the writer: what comes next waits until there is room. The way back is
   * waited for only where it was used. A server that does not read while it writes would otherwise
   * make us stop reading it, and all three would wait for each other.
   */
  function take(chunk: Buffer): void {
    for (let rest: Buffer | null = chunk; rest !== null;) {
      rest = framer.push(rest);
      onward.flush?.();
      const waitsForBack = answered && back.isFull;
      answered = false;
      if (!onward.isFull && !waitsForBack) continue;
      held = rest;
      isResting = true;
      source.pause();
      onward.whenReady(() => (waitsForBack ? back.whenReady(goOn) : goOn()));
      return;
    }
  }

  function goOn(): void {
    isResting = false;
    const rest = held;
    held = null;
    if (rest !== null) take(rest);
    if (isResting) return;
    if (isClosed) close();
    else source.resume();
  }

  function close(): void {
    isClosed = true;
    if (ended || held !== null) return;
    ended = true;
    framer.end();
    onEnd();
  }

  if (tapped != null) source.on("data", tapped);
  source.on("data", take);
  source.on("end", close);
  source.on("close", close);
  source.on("error", close);
  return {
    left(way) {
      if (way === "back") answered = true;
      // A thousand short questions in one chunk may have a thousand long answers.
      if ((way === "back" ? back : onward).isFull) framer.pause();
    },
  };
}
