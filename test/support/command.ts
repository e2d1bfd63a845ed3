import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** The command as it is built. */
export const COMMAND = resolve(import.meta.dirname, "../../dist/command/fairlead.cjs");

/** A program of `test/fixtures/servers`, and how it is started. */
export function fixture(name: string, ...args: string[]): string[] {
  const path = resolve(import.meta.dirname, "../fixtures/servers", name);
  return [name.endsWith(".sh") ? "sh" : process.execPath, path, ...args];
}

/** A number from one of the files that the kernel keeps about a process: `readCount(pid, "status", "VmHWM")`. */
export function readCount(pid: number, file: "status" | "io", name: string): number {
  const match = new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/${file}`, "latin1"));
  if (match === null) throw new Error(`/proc/${pid}/${file} has no ${name}`);
  return Number(match[1]);
}
