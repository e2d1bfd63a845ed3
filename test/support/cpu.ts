import { fold } from "../../src/message/fold.ts";

/** The processor time, in milliseconds, that something takes: on a busy machine it says more than a clock. */
export async function cpuTime(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The least of several times: what something costs when nothing gets in its way, such as collecting garbage of others. */
export async function leastCpuTime(work: () => unknown, times = 5): Promise<number> {
  let least = Infinity;
  for (let time = 0; time < times; time++) least = Math.min(least, await cpuTime(work));
  return least;
}

/** A key of megabytes, of characters that become eighteen when they are folded. */
export const LONG_KEY = "\ufdfa".repeat(1_000_000);

let weighing: Promise<number> | undefined;
/** What it costs to weigh all of it: nobody but a test should ever do so. */
export function costOfWeighing(): Promise<number> {
  weighing ??= cpuTime(() => fold(LONG_KEY));
  return weighing;
}
