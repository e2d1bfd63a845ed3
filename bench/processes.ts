import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { ECHO } from "./variants.ts";

/** A process and its descendants, itself first. Empty without /proc. */
function family(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of list("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = read(`/proc/${name}/stat`);
    // "pid (any text) state parent …": the text may contain spaces and parentheses.
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found = [root];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return found;
}

/** All processes between the driver and the echo server: the descendants of `root` without the server itself. */
export function between(root: number): number[] {
  return family(root).filter((pid) => basename(commandLine(pid)[1] ?? "") !== ECHO);
}

/** Whether one of these is Fairlead's watchdog. */
export function hasWatchdog(pids: readonly number[]): boolean {
  return pids.some((pid) => commandLine(pid).includes("fairlead-watchdog"));
}

/** The memory that would become free if these processes ended, in bytes. */
export function privateBytes(pids: readonly number[]): number {
  let kilobytes = 0;
  for (const pid of pids) {
    for (const [, number] of read(`/proc/${pid}/smaps_rollup`).matchAll(/^Private_(?:Clean|Dirty): +(\d+)/gm)) {
      kilobytes += Number(number);
    }
  }
  return kilobytes * 1024;
}

/** The processor time of these processes, all threads, in nanoseconds. */
export function processorTime(pids: readonly number[]): number {
  let nanoseconds = 0;
  for (const pid of pids) {
    for (const task of list(`/proc/${pid}/task`)) {
      nanoseconds += Number(read(`/proc/${pid}/task/${task}/schedstat`).split(" ")[0]);
    }
  }
  return nanoseconds;
}

/** Kills a process and everything it started. */
export function killFamily(root: number): void {
  kill(family(root));
}

/** Kills all processes that this run has started, with their descendants. */
export function killChildren(): void {
  kill(family(process.pid).slice(1));
}

function kill(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

function commandLine(pid: number): string[] {
  return read(`/proc/${pid}/cmdline`).split("\0");
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // it has ended meanwhile
  }
}
