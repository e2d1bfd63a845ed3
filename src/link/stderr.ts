import { fstatSync } from "node:fs";
import type { Readable } from "node:stream";

/**
 * Whether a child cannot simply have our stderr. Node makes a pipe or a socket non-blocking as soon
 * as anything looks at `process.stderr`, also for everybody it is shared with; a server that writes
 * more than fits would lose the rest. A terminal or a file is shared without harm.
 */
export function sharesStderr(): boolean {
  try {
    const stat = fstatSync(2);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false;
  }
}

let isGuarded = false;

/** Carries a child's stderr to ours, as it is. Resolves when all of it has left, or nobody reads it. */
export function carryStderr(source: Readable): Promise<void> {
  if (!isGuarded) {
    isGuarded = true;
    process.stderr.setMaxListeners(0); // as many as there are children
    process.stderr.on("error", () => {}); // that nobody reads what we say is no reason to end
  }
  source.pipe(process.stderr, { end: false });
  return new Promise((resolve) => {
    const leave = (): void => {
      source.unpipe(process.stderr);
      source.resume();
      resolve();
    };
    process.stderr.on("error", leave);
    source.on("close", () => {
      process.stderr.off("error", leave);
      process.stderr.write("", () => resolve());
    });
  });
}
