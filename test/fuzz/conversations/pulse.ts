import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * What tells a test when the next step may begin, without sleeping. All ends of a conversation are in this process: the
 * clients, the proxy and the server. Loopback sockets deliver at once, so after a few turns of the event loop in which
 * none of our ends heard anything, nothing is on its way any more.
 */
export interface Pulse {
  /** Said by every end that hears something. */
  beat(): void;
  /** Resolves when nothing has been heard for a few turns of the event loop. */
  rest(): Promise<void>;
  /** Waits until something is so, for as long as `limitMs`. False when it did not become so. */
  until(isSo: () => boolean): Promise<boolean>;
}

/**
 * The longest way without a word at an end of ours: a request that the proxy reads, for which it opens a connection, and
 * which leaves together with others. That takes four turns.
 */
const QUIET_TURNS = 8;

/** Makes one. Nothing may take longer than `limitMs`. */
export function createPulse(limitMs: number): Pulse {
  let beats = 0;
  let wake: (() => void) | null = null;

  async function rest(): Promise<void> {
    for (let quiet = 0, heard = beats; quiet < QUIET_TURNS; quiet++) {
      await nextTurn();
      if (heard !== beats) quiet = 0;
      heard = beats;
    }
  }

  return {
    beat() {
      beats++;
      wake?.();
    },
    rest,
    async until(isSo) {
      const limit = performance.now() + limitMs;
      while (!isSo()) {
        const left = limit - performance.now();
        if (left <= 0) return false;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        wake = null;
        await rest();
      }
      return true;
    },
  };
}
