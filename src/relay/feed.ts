import type { Readable } from "node:stream";
import { createLineFramer, type LineSink } from "../wire/lines.ts";

/** A destination for messages that may be full. */
export interface Room {
  readonly isFull: boolean;
  whenReady(resume: () => void): void;
  /** Writes what is still buffered. */
  flush?(): void;
}

/** Reads lines from a stream only as fast as the resulting messages can be written. */
export interface Feed {
  /**
   * Called by the sink when it has sent something, onward or back. If there is no room for more, the rest of the chunk
   * waits.
   */
  left(way: "onward" | "back"): void;
}

/** Options of a feed. */
export interface FeedOptions {
  readonly source: Readable;
  readonly maxMessageBytes: number;
  readonly sink: LineSink;
  /** Where messages are forwarded to, and where responses to their sender go. */
  readonly onward: Room;
  readonly back: Room;
  /** Receives all incoming bytes before they are processed. */
  readonly tapped?: ((bytes: Buffer) => void) | null | undefined;
  /** Called when the source has ended and everything from it was processed. */
  readonly onEnd: () => void;
}

/** Starts reading lines from a stream. */
export function createFeed({ source, maxMessageBytes, sink, onward, back, tapped, onEnd }: FeedOptions): Feed {
  const framer = createLineFramer(maxMessageBytes, sink);
  let answered = false; // whether something was sent back since the last pause
  let held: Buffer | null = null; // the rest of a chunk while there is no room for its messages
  let isResting = false;
  let isClosed = false; // the source has ended
  let ended = false; // and everything from it was processed

  /**
   * A slow reader slows the writer: the next lines wait until there is room. The way back is waited for only if it was
   * used. Otherwise a server that does not read while it writes would make the proxy stop reading it, and server, proxy
   * and client would wait for each other.
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
      // A thousand short requests in one chunk may have a thousand long responses.
      if ((way === "back" ? back : onward).isFull) framer.pause();
    },
  };
}
