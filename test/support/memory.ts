import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What is really in use, after everything was collected that can be. */
export function settledMemory(): NodeJS.MemoryUsage {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let times = 0; times < 3; times++) collect();
  return process.memoryUsage();
}
