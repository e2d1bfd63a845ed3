import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { createSearch } from "./search.ts";

/**
 * Kills a process, its group and everything that carries the mark, synchronously. Every process that is found is
 * stopped first, so that it cannot start others, and killed when no new ones are found: after their parents have ended,
 * some processes could not be found any more.
 */
export function killFamily(leader: number, mark: string): void {
  if (process.platform === "win32") {
    spawnSync("taskkill", ["/pid", String(leader), "/T", "/F"], { stdio: "ignore" });
    return;
  }
  let news = 0;
  const search = createSearch(mark, leader, (pid) => {
    news++;
    sendSignal(pid, "SIGSTOP");
  });
  let pids: readonly number[] = [];
  sendSignal(-leader, "SIGSTOP");
  const start = performance.now();
  let seen = start; // when a process was last found
  // Search several times, because most searches miss a process that keeps replacing itself by a new one.
  for (let empty = 0; empty < EMPTY_LOOKS;) {
    news = 0;
    const sight = search.look();
    const now = performance.now();
    ({ pids } = sight);
    if (pids.length > 0) {
      empty = 0;
      seen = now;
    } else if (sight.isWhole) empty++;
    if (news === 0) kill(leader, pids);
    // On a busy machine so many processes may start and end that no search is complete.
    if (now - seen > MAX_DOUBT_MS || now - start > MAX_KILL_MS) break;
  }
  kill(leader, pids);
}

function kill(leader: number, pids: readonly number[]): void {
  sendSignal(-leader, "SIGKILL");
  for (const pid of pids) sendSignal(pid, "SIGKILL");
}

/** How long to keep searching for a process that keeps escaping. */
const MAX_KILL_MS = 1000;
/** How long to keep searching when nothing is found but no search was complete. */
const MAX_DOUBT_MS = 250;
const EMPTY_LOOKS = 3;

/** Whether a process of a process group is still running. */
export function hasGroup(leader: number): boolean {
  return process.platform !== "win32" && sendSignal(-leader, 0);
}

/** Sends a signal. False if the process does not exist. */
export function sendSignal(target: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, name);
  } catch {
    return false;
  }
}
