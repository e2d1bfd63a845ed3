import type { UpstreamCall } from "../link/upstream/pool.ts";

/** Stops a server's response as long as anybody wants it to stop: its reader is slow, or memory is short. */
export interface Brake {
  pause(): void;
  /** Said once for each pause. */
  resume(): void;
}

/** Makes a brake for a call. */
export function createBrake(call: () => UpstreamCall): Brake {
  let holds = 0;
  return {
    pause() {
      if (holds++ === 0) call().pause();
    },
    resume() {
      if (--holds === 0) call().resume();
    },
  };
}
