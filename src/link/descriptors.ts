import { readFileSync } from "node:fs";

/** How many files and sockets this process may have open; null if the system does not tell, as on macOS and Windows. */
export function descriptorLimit(): number | null {
  try {
    const match = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"));
    return match === null ? null : Number(match[1]);
  } catch {
    return null;
  }
}
