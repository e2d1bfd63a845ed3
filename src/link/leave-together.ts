import type { Writable } from "node:stream";

let held: Writable[] = [];

/**
 * Holds back what is written to a stream until all that has come in now has been looked at. Many writes to one program
 * in a row wake it up once; each after some work of ours would wake it up each time.
 */
export function leaveTogether(stream: Writable): void {
  stream.cork();
  if (held.length === 0) setImmediate(letGo);
  held.push(stream);
}

function letGo(): void {
  const streams = held;
  held = [];
  for (const stream of streams) stream.uncork();
}
