/** Blocks the thread. Only for startup and shutdown, when there is nothing else to do. */
export function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
