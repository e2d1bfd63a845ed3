import type { UpstreamCall } from "../link/upstream/pool.ts";

/** Stops a server's response as long as anybody wants it to stop: its reader is slow, or memory is short. */
export interface Brake {
  readonly pause: () => void;
  /** Said once for each pause. */
  readonly resume: () => void;
}

/** Makes a brake for a call. */
export function createBrake(call: Pick<UpstreamCall, "pause" | "resume">): Brake {
  let holds = 0;
  return {
    pause() {
      if (holds++ === 0) call.pause();
    },
    resume() {
      if (--holds === 0) call.resume();
    },
  };
}
