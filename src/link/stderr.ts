import { fstatSync } from "node:fs";
import type { Readable } from "node:stream";

/**
 * Whether stderr must be relayed instead of inherited. Node makes a pipe or a socket non-blocking as soon as
 * `process.stderr` is used, also for every process that shares it; a server that writes more than fits would lose the
 * rest. A terminal or a file can be inherited safely.
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

/**
 * Copies a child's stderr to ours unchanged. Resolves when all of it has been written, or when our stderr is closed.
 */
export function carryStderr(source: Readable): Promise<void> {
  if (!isGuarded) {
    isGuarded = true;
    process.stderr.setMaxListeners(0); // one listener per child process
    process.stderr.on("error", () => {}); // a closed stderr must not end the proxy
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
