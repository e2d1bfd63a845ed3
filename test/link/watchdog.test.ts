import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createMark, MARK_VARIABLE } from "../../src/link/mark.ts";
import { startWatchdog, type Watchdog } from "../../src/link/watchdog.ts";

const WATCHDOG = new URL("../../src/link/watchdog.ts", import.meta.url).href;
const TSX = import.meta.resolve("tsx");

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

/** Something that lives for a while, in a group of its own. */
function sleeper(env: Record<string, string> = {}): ChildProcess & { pid: number } {
  const child = spawn("sleep", ["100"], { detached: true, stdio: "ignore", env: { PATH: "/usr/bin:/bin", ...env } });
  started.push(child);
  if (child.pid === undefined) throw new Error("no sleep");
  return child as ChildProcess & { pid: number };
}

const isOver = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Somebody with a watchdog who is killed as soon as it has one. */
async function dieWatched(mark: string, watched: readonly number[], gone: readonly number[] = []): Promise<void> {
  const script = `
    import { startWatchdog } from ${JSON.stringify(WATCHDOG)};
    const watchdog = startWatchdog(${JSON.stringify(mark)}, (error) => { throw error; });
    for (const leader of ${JSON.stringify(watched)}) watchdog.watch(leader);
    for (const leader of ${JSON.stringify(gone)}) watchdog.unwatch(leader);
    setTimeout(() => process.kill(process.pid, "SIGKILL"), 50);
  `;
  const args = ["--import", TSX, "--input-type=module", "-e", script];
  const owner = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  const signal = await new Promise((resolve) => owner.on("exit", (_, name) => resolve(name)));
  expect(signal).toBe("SIGKILL");
}

/** The watchdogs that know a mark. */
function watchdogs(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && readCommand(name).endsWith(`\0fairlead-watchdog\0${mark}\0`))
    .map(Number);
}

/** Starts a watchdog of our own. */
async function start(mark: string): Promise<{ watchdog: Watchdog; pid: number }> {
  const watchdog = startWatchdog(mark, (error) => {
    throw error;
  });
  if (watchdog === undefined) throw new Error("no watchdog");
  await expect.poll(() => watchdogs(mark)).toHaveLength(1);
  return { watchdog, pid: watchdogs(mark)[0] };
}

describe.runIf(process.platform === "linux")("a watchdog", { timeout: 30_000 }, () => {
  test("ends a group and what carries the mark when its owner is killed, and then itself", async () => {
    const mark = createMark();
    const leader = sleeper();
    const marked = sleeper({ [MARK_VARIABLE]: `other:${mark}` });
    const stranger = sleeper({ [MARK_VARIABLE]: createMark() });
    await dieWatched(mark, [leader.pid]);
    await expect.poll(() => isOver(leader) && isOver(marked), { timeout: 8000 }).toBe(true);
    expect(leader.signalCode).toBe("SIGTERM");
    expect(marked.signalCode).toBe("SIGKILL");
    await expect.poll(() => watchdogs(mark), { timeout: 8000 }).toEqual([]);
    expect(isOver(stranger)).toBe(false);
  });

  test("ends what carries the mark when its owner was killed before it could say whose group it is", async () => {
    const mark = createMark();
    const marked = sleeper({ [MARK_VARIABLE]: mark });
    await dieWatched(mark, []);
    await expect.poll(() => isOver(marked), { timeout: 8000 }).toBe(true);
    await expect.poll(() => watchdogs(mark), { timeout: 8000 }).toEqual([]);
  });

  test("ends all the groups it was told of, and none of those that are gone", async () => {
    const mark = createMark();
    const [first, second, third] = [sleeper(), sleeper(), sleeper()];
    const pids = [first.pid, second.pid, third.pid];
    await dieWatched(mark, pids, [second.pid, 999_999_999]);
    await expect.poll(() => isOver(first) && isOver(third), { timeout: 8000 }).toBe(true);
    await expect.poll(() => watchdogs(mark), { timeout: 8000 }).toEqual([]);
    expect(isOver(second)).toBe(false);
  });

  test("goes without doing anything when it is dismissed", async () => {
    const mark = createMark();
    const leader = sleeper({ [MARK_VARIABLE]: mark });
    const { watchdog } = await start(mark);
    watchdog.watch(leader.pid);
    watchdog.dismiss();
    await expect.poll(() => watchdogs(mark), { timeout: 8000 }).toEqual([]);
    expect(isOver(leader)).toBe(false);
  });

  test("goes without doing anything when there never was a child", async () => {
    const mark = createMark();
    const marked = sleeper({ [MARK_VARIABLE]: mark });
    const { watchdog } = await start(mark);
    watchdog.dismiss();
    await expect.poll(() => watchdogs(mark), { timeout: 8000 }).toEqual([]);
    expect(isOver(marked)).toBe(false);
  });

  test("stays when signals come that mean its owner, and has a group, a session and an environment of its own", async () => {
    const mark = createMark();
    const { watchdog, pid } = await start(mark);
    // Its first line sets the traps; it has read it when it waits for the second.
    await expect.poll(() => readFileSync(`/proc/${pid}/status`, "latin1")).toMatch(/^SigIgn:\s*\w*4003$/m);
    for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.kill(pid, signal);
    await delay(200);
    expect(watchdogs(mark)).toEqual([pid]);
    const [group, session] = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1].split(" ").slice(2, 4);
    expect([group, session]).toEqual([String(pid), String(pid)]);
    expect(readFileSync(`/proc/${pid}/environ`, "latin1")).toBe("PATH=/usr/bin:/bin\0");
    watchdog.dismiss();
    await expect.poll(() => watchdogs(mark), { timeout: 8000 }).toEqual([]);
  });
});

function readCommand(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return ""; // gone meanwhile
  }
}
