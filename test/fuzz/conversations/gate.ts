import type { Interceptor } from "../../../src/chain/interceptors/interceptor.ts";

/** An interceptor that holds messages back for as long as a conversation wants. */
export interface Gate {
  readonly interceptor: Interceptor;
  /** Whether messages are held back now. */
  isClosed: boolean;
  /** How many are. */
  readonly held: number;
  /** Lets them go, and holds back no more. */
  open(): void;
}

/** The methods whose messages it holds back: what is asked, and what is answered. */
const METHODS = ["prompts/list", "prompts/get", "vendor/question", "sampling/createMessage"];

/** Makes one that is open. */
export function createGate(beat: () => void): Gate {
  const waiting = new Set<() => void>();
  const gate: Gate = {
    isClosed: false,
    interceptor: {
      methods: METHODS,
      intercept({ signal }) {
        if (!gate.isClosed) return undefined;
        beat();
        return new Promise<void>((resolve) => {
          const go = (): void => {
            waiting.delete(go);
            resolve();
          };
          waiting.add(go);
          signal.addEventListener("abort", go);
        });
      },
    },
    get held() {
      return waiting.size;
    },
    open() {
      gate.isClosed = false;
      for (const go of waiting) go();
    },
  };
  return gate;
}
