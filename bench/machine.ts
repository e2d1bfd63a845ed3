import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem, type } from "node:os";

/** The machine and the time of a measurement. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memory: string;
  readonly system: string;
  readonly node: string;
  /** The load average of the minute before the run. */
  readonly load: number;
  /** The share of all cores that other processes used, in the median round. */
  readonly others: number;
  readonly date: string;
}

/** Describes this machine. */
export function describeMachine(): Machine {
  const cores = cpus();
  return {
    processor: cores[0]?.model.trim() ?? "unknown",
    cores: cores.length,
    memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
    system: `${type()} ${release()}`,
    node: process.version,
    load: loadavg()[0],
    others: 0,
    date: new Date().toISOString().slice(0, 10),
  };
}

/** The description in one sentence. */
export function showMachine({ processor, cores, memory, system, node, load, others, date }: Machine): string {
  const noise = `load ${load.toFixed(2)} before the run`;
  const share = `others took ${Math.round(others * 100)} % of the cores in the median round`;
  return `${processor}, ${cores} cores, ${memory}, ${system}, Node ${node}, ${noise}, ${share}, ${date}`;
}

/** With a higher load before the run, something else is using the machine. */
export const MAX_QUIET_LOAD = 0.5;

/**
 * Starts to watch other processes. The returned function tells which share of the processors they have used since then.
 */
export function watchOthers(): () => number | null {
  const before = readUse();
  return () => {
    const after = readUse();
    if (before === null || after === null) return null;
    const busy = after.busy - before.busy - (after.own - before.own);
    return Math.max(0, busy / (after.all - before.all));
  };
}

/**
 * Clock ticks since boot: all, busy ones, and those spent by this process and by its child processes that have ended.
 */
function readUse(): { all: number; busy: number; own: number } | null {
  try {
    const ticks = readFileSync("/proc/stat", "latin1").split("\n")[0].trim().split(/\s+/).slice(1, 9).map(Number);
    const stat = readFileSync("/proc/self/stat", "latin1");
    const own = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 15)
      .map(Number);
    const all = sum(ticks);
    return { all, busy: all - ticks[3] - ticks[4], own: sum(own) }; // everything except idle and waiting for a disk
  } catch {
    return null;
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
