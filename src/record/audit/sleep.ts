/** Waits without giving way. For moments when there is nothing else to do: the start and the end. */
export function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
