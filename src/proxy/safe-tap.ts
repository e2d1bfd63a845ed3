import type { Reporter } from "../record/log/report.ts";
import type { Tap } from "../wire/tap.ts";

/** Wraps a tap so that its exceptions are logged once, under the rule `tap`, and have no other effect. */
export function createSafeTap(tap: Tap, reporter: Reporter): Tap {
  let hasFailed = false;
  function guard(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      if (hasFailed) return;
      hasFailed = true;
      reporter.report("tap", `a recorder failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return {
    bytes: (...args) => guard(() => tap.bytes(...args)),
    head: (...args) => guard(() => tap.head(...args)),
    end: (...args) => guard(() => tap.end(...args)),
  };
}
