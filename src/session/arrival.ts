// Reading a clock takes as long as all else that opening a call does. Messages that were read together came together.
let last: Buffer | null = null;
let lastClock: (() => number) | null = null;
let lastTime = 0;

/** When the bytes of a message came, by this clock: the same time for all messages in one buffer. */
export function timeOfArrival(bytes: Buffer, now: () => number): number {
  if (bytes !== last || now !== lastClock) {
    last = bytes.length > MAX_KEPT_BYTES ? null : bytes; // what is kept here is not freed before the next message comes
    lastClock = now;
    lastTime = now();
  }
  return lastTime;
}

const MAX_KEPT_BYTES = 131_072;
