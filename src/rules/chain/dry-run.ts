import type { ChainServices } from "./services.ts";

/** How services that do nothing are made. */
export interface DryOptions {
  readonly now: () => number;
  /** Told what was not done, in words for people. */
  readonly onSkipped?: (what: string) => void;
}

/**
 * Services for a chain that only explains, or walks beside another one: nobody is told or asked, nothing is sent, nobody
 * waits. Whoever would be asked is taken to allow the message. To allow some of it, put the real service in its place.
 */
export function createDryServices({ now, onSkipped = () => {} }: DryOptions): ChainServices {
  return {
    report: () => {},
    count: () => {},
    metric: () => {},
    tell: (action) => onSkipped(`telling ${new URL(action.url).origin}`),
    ask(action) {
      onSkipped(action.does === "webhook" ? `asking ${new URL(action.url).origin}` : `running ${action.path}`);
      return Promise.resolve({ body: Buffer.from('{"action":"allow"}') });
    },
    fork(action) {
      onSkipped(`sending ${action.copies} ${action.copies === 1 ? "copy" : "copies"}`);
      return null;
    },
    hold() {
      onSkipped("holding it for a person");
      return Promise.resolve({ by: "decision", verdict: { do: "allow" }, who: "nobody" });
    },
    sleep(milliseconds) {
      onSkipped(`waiting ${milliseconds} ms`);
      return Promise.resolve();
    },
    now,
  };
}
