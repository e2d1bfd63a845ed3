import { readFileSync } from "node:fs";
import { createSearch } from "./search.ts";

/**
 * Tells whether a process and everything it started are working. A server that is being installed is silent for a long
 * time.
 */
export interface WorkMeter {
  /** The activity since the last call. "unknown" without /proc. */
  look(): "working" | "idle" | "unknown";
}

/**
 * The least activity between two calls that counts as work: a waiting program with a timer or a heartbeat does less.
 */
const LEAST_CPU_TICKS = 3; // of 10 ms each
const LEAST_IO_BYTES = 16_384;

/** What a process has done since its start. */
interface Done {
  readonly cpuTicks: number;
  readonly ioBytes: number;
}

/** Makes a meter for a process, its group and everything that carries the mark. */
export function createWorkMeter(mark: string, leader: number): WorkMeter {
  const search = createSearch(mark, leader);
  let before = new Map<number, Done>();
  return {
    look() {
      const { pids } = search.look();
      if (pids.length === 0) return "unknown";
      const now = new Map(pids.map((pid) => [pid, readDone(pid)]));
      let cpuTicks = 0;
      let ioBytes = 0;
      let isNew = false;
      for (const [pid, done] of now) {
        const last = before.get(pid);
        if (last === undefined) isNew = true;
        cpuTicks += done.cpuTicks - (last?.cpuTicks ?? 0);
        ioBytes += done.ioBytes - (last?.ioBytes ?? 0);
      }
      before = now;
      return isNew || cpuTicks >= LEAST_CPU_TICKS || ioBytes >= LEAST_IO_BYTES ? "working" : "idle";
    },
  };
}

function readDone(pid: number): Done {
  const stat = read(`/proc/${pid}/stat`);
  // proc_pid_stat(5): utime, stime, cutime and cstime. The text in parentheses may contain spaces.
  const times = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  const counts = read(`/proc/${pid}/io`).matchAll(/^[rw]char: (\d+)$/gm);
  return {
    cpuTicks: times.reduce((sum, time) => sum + (Number(time) || 0), 0),
    ioBytes: [...counts].reduce((sum, [, count]) => sum + Number(count), 0),
  };
}

/** Empty if the process is gone, or if there is no permission to read it. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
