import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { createSearch } from "./search.ts";

/**
 * Ends a process, its group and all that carries the mark, now and synchronously. Whatever is found is
 * stopped first, so that it cannot start anything more, and killed when nothing new turns up: with their
 * parents gone, some could not be found any more.
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
  let seen = start; // when somebody was last found
  // Several looks, because one that goes on in a new process all the time is missed by most.
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
    // Elsewhere on the machine so much may come and go that no look is whole.
    if (now - seen > MAX_DOUBT_MS || now - start > MAX_KILL_MS) break;
  }
  kill(leader, pids);
}

function kill(leader: number, pids: readonly number[]): void {
  sendSignal(-leader, "SIGKILL");
  for (const pid of pids) sendSignal(pid, "SIGKILL");
}

/** How long we try to get hold of something that gets away. */
const MAX_KILL_MS = 1000;
/** How long we look on when we see nobody, but cannot be sure. */
const MAX_DOUBT_MS = 250;
const EMPTY_LOOKS = 3;

/** Whether anybody of a process group is left. */
export function hasGroup(leader: number): boolean {
  return process.platform !== "win32" && sendSignal(-leader, 0);
}

/** Sends a signal. False when nobody is there any more. */
export function sendSignal(target: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, name);
  } catch {
    return false;
  }
}
