import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** The process that writes a chain, with enough detail to tell later whether it is still running. */
export interface Author {
  readonly pid: number;
  /** Its start time, because process ids are reused; empty if the system does not tell. */
  readonly start: string;
  /** The machine and the container in which the process id is valid. */
  readonly place: string;
}

/** Describes our own process. */
export function describeAuthor(): Author {
  return { pid: process.pid, start: startOf(process.pid), place: place() };
}

/**
 * Whether a process is still running. If that cannot be determined, it is assumed for a process that was active within
 * the last day.
 */
export function isRunning(author: Author, silentMs: number): boolean {
  if (author.place !== place()) return silentMs < DAY_MS;
  try {
    process.kill(author.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const start = startOf(author.pid);
  return start === "" || author.start === "" || start === author.start;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** On Linux: the boot id, and the clock ticks from boot to the start of the process. */
function startOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses and may contain anything. proc(5): the start time is the 22nd
  // field.
  const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  return ticks === "" ? "" : `${read("/proc/sys/kernel/random/boot_id").trim()}/${ticks}`;
}

let known: string | undefined;
function place(): string {
  known ??= createHash("sha256").update(`${hostname()}\n${namespace()}`).digest("hex").slice(0, 16);
  return known;
}

function namespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
