// Reading the clock costs as much as the rest of opening a call. Messages in one buffer arrived together, so they share
// one reading.
let last: Buffer | null = null;
let lastClock: (() => number) | null = null;
let lastTime = 0;

/** When the bytes of a message arrived, by this clock: the same time for all messages in one buffer. */
export function timeOfArrival(bytes: Buffer, now: () => number): number {
  if (bytes !== last || now !== lastClock) {
    last = bytes.length > MAX_KEPT_BYTES ? null : bytes; // a kept buffer is not freed before the next message arrives
    lastClock = now;
    lastTime = now();
  }
  return lastTime;
}

const MAX_KEPT_BYTES = 131_072;
