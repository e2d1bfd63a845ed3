import type { Fields, Level, Log } from "./log.ts";

/** Says what goes wrong, but not a thousand times: what one rule has to say has a small allowance. */
export interface Reporter {
  /** `rule` is who decided, under the name it has in the audit log. */
  report(rule: string, text: string, details?: ReportDetails): void;
  /** Says what was held back. */
  end(): void;
}

/** What a report is besides its text. */
export interface ReportDetails {
  /** A warning, unless it is daily work. */
  readonly level?: Level;
  readonly fields?: Fields;
}

/** Lines that one rule may write in each window. */
const MAX_LINES = 10;
const WINDOW_MS = 10_000;

/** Makes a reporter on a log. */
export function createReporter(log: Log, now: () => number): Reporter {
  const windows = new Map<string, { since: number; lines: number; held: number; level: Level }>();

  function close(rule: string, { held, level }: { held: number; level: Level }): void {
    if (held > 0) log[level](`${held} more like this`, { rule });
  }

  return {
    report(rule, text, { level = "warn", fields = {} } = {}) {
      let window = windows.get(rule);
      if (window === undefined || now() - window.since >= WINDOW_MS) {
        if (window !== undefined) close(rule, window);
        window = { since: now(), lines: 0, held: 0, level };
        windows.set(rule, window);
      }
      if (window.lines < MAX_LINES) {
        window.lines++;
        log[level](text, { rule, ...fields });
      } else window.held++;
    },
    end() {
      for (const [rule, window] of windows) close(rule, window);
      windows.clear();
    },
  };
}
