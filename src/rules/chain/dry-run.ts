import type { ChainServices } from "./services.ts";

/** The clock and the callback of services without side effects. */
export interface DryOptions {
  readonly now: () => number;
  /** Is called with a description, for people, of what was not done. */
  readonly onSkipped?: (what: string) => void;
}

/**
 * Services without side effects, for a chain that only explains or runs beside another one: nothing is sent, asked or
 * delayed. A webhook, script or person that would be asked counts as allowing the message. To use a real service,
 * replace the member.
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
