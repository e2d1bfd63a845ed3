import type { Fields, Level, Log } from "./log.ts";

/** Writes log lines about problems, with a limit per rule. */
export interface Reporter {
  /** `rule` is the rule that decided, by its name in the audit log. */
  report(rule: string, text: string, details?: ReportDetails): void;
  /** Logs how many lines were suppressed. */
  end(): void;
}

/** Options of a log line. */
export interface ReportDetails {
  /** The default is a warning. */
  readonly level?: Level;
  readonly fields?: Fields;
}

/** How many lines one rule may write in each window. */
const MAX_LINES = 10;
const WINDOW_MS = 10_000;

/** Makes a reporter for a log. */
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
