import type { UpstreamCall } from "../link/upstream/pool.ts";

/** Pauses a server's response while at least one reason to pause remains: its reader is slow, or memory is short. */
export interface Brake {
  readonly pause: () => void;
  /** Call once for each `pause`. */
  readonly resume: () => void;
}

/** Makes a brake for one request to the server. */
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
