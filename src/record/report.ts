import type { Log } from "./log.ts";

/** Says what goes wrong, but not a thousand times: each kind of trouble has a small allowance. */
export interface Reporter {
  report(kind: string, text: string): void;
  /** Says what was held back. */
  end(): void;
}

/** Lines a kind of trouble may write in each window. */
const MAX_LINES = 10;
const WINDOW_MS = 10_000;

/** Makes a reporter on a log. */
export function createReporter(log: Log, now: () => number): Reporter {
  const kinds = new Map<string, { since: number; lines: number; held: number }>();

  function close(kind: string, state: { held: number }): void {
    if (state.held > 0) log.warn(`${state.held} more like this`, { kind });
  }

  return {
    report(kind, text) {
      let state = kinds.get(kind);
      if (state === undefined || now() - state.since >= WINDOW_MS) {
        if (state !== undefined) close(kind, state);
        state = { since: now(), lines: 0, held: 0 };
        kinds.set(kind, state);
      }
      if (state.lines < MAX_LINES) {
        state.lines++;
        log.warn(text, { kind });
      } else state.held++;
    },
    end() {
      for (const [kind, state] of kinds) close(kind, state);
      kinds.clear();
    },
  };
}
