import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { createMark, MARK_VARIABLE, markedEnvironment } from "../../src/link/mark.ts";
import { createSearch } from "../../src/link/search.ts";

/** The leader of no group. */
const NOBODY = -1;

const findMarked = (mark: string, leader: number): number[] => [...createSearch(mark, leader).look().pids];

describe.runIf(process.platform === "linux")("what carries a mark", () => {
  const started: ChildProcess[] = [];
  afterEach(() => {
    for (const { pid } of started.splice(0)) if (pid !== undefined) process.kill(-pid, "SIGKILL");
  });

  /** Runs a script in a session of its own, until it says the ids of the processes it wants to be found. */
  async function run(script: string, mark: string): Promise<{ leader: number; pids: number[] }> {
    const env = markedEnvironment(process.env, {}, mark);
    const child = spawn("sh", ["-c", script], { env, detached: true, stdio: ["ignore", "pipe", "ignore"] });
    started.push(child);
    let said = "";
    for await (const chunk of child.stdout) {
      said += chunk;
      if (said.endsWith("\n")) break;
    }
    return { leader: child.pid ?? 0, pids: said.trim().split(" ").map(Number) };
  }

  test("is found by it, and so is what it started without it", async () => {
    const mark = createMark();
    const { pids } = await run('env -i sleep 100 & echo "$$ $!"; wait', mark);
    expect(sorted(findMarked(mark, NOBODY))).toEqual(sorted(pids));
  });

  test("is found by its group or session when it does not show its mark", async () => {
    const { leader, pids } = await run('sleep 100 & echo "$$ $!"; wait', "another");
    expect(sorted(findMarked(createMark(), leader))).toEqual(sorted(pids));
  });

  test("is nobody else, and never us", async () => {
    const mark = createMark();
    await run("echo $$; sleep 100; :", "another");
    expect(findMarked(mark, NOBODY)).toEqual([]);
    const path = process.env["PATH"] ?? "";
    expect(findMarked(path, NOBODY)).not.toContain(process.pid);
  });

  test("is found behind one of several marks", async () => {
    const [outer, inner] = [createMark(), createMark()];
    const { pids } = await run("echo $$; sleep 100; :", `${outer}:${inner}`);
    expect(findMarked(outer, NOBODY)).toEqual(expect.arrayContaining(pids));
    expect(findMarked(inner, NOBODY)).toEqual(expect.arrayContaining(pids));
  });

  test("is not found when it is dead, though its parent has not noticed", async () => {
    const mark = createMark();
    const { leader, pids } = await run("sleep 0.1 & echo $!; exec sleep 100", mark);
    await expect.poll(() => findMarked(mark, leader)).toEqual([leader]);
    expect(() => process.kill(pids[0], 0)).not.toThrow();
  });
});

describe.runIf(process.platform === "linux")("a search", () => {
  const started: ChildProcess[] = [];
  afterEach(() => {
    for (const child of started.splice(0)) child.kill("SIGKILL");
  });
  const sleeper = (env: NodeJS.ProcessEnv): number => {
    const child = spawn("sleep", ["100"], { env: { PATH: process.env["PATH"], ...env }, detached: true });
    started.push(child);
    return child.pid ?? 0;
  };

  test("tells of each process once, when it is first seen", async () => {
    const mark = createMark();
    const news: number[] = [];
    const search = createSearch(mark, NOBODY, (pid) => news.push(pid));
    const first = sleeper({ [MARK_VARIABLE]: mark });
    await expect.poll(() => search.look().pids).toEqual([first]);
    const second = sleeper({ [MARK_VARIABLE]: mark });
    sleeper({});
    await expect.poll(() => sorted([...search.look().pids])).toEqual(sorted([first, second]));
    expect(news).toEqual([first, second]);
  });

  test("remembers whom it has found, though nothing tells any more that it is ours", async () => {
    const mark = createMark();
    const script = "env -i sh -c 'echo $$; exec setsid sleep 100 >/dev/null' & read line";
    const parent = spawn("sh", ["-c", script], { env: { PATH: process.env["PATH"], [MARK_VARIABLE]: mark } });
    started.push(parent);
    const [said] = (await once(parent.stdout, "data")) as [Buffer];
    const orphan = Number(String(said));
    const search = createSearch(mark, NOBODY);
    expect(search.look().pids).toContain(orphan);
    parent.kill("SIGKILL");
    await once(parent, "exit");
    expect(findMarked(mark, NOBODY)).toEqual([]);
    expect(search.look().pids).toEqual([orphan]);
    process.kill(orphan, "SIGKILL");
    await expect.poll(() => search.look().pids).toEqual([]);
  });
});

function sorted(pids: number[]): number[] {
  return pids.toSorted((a, b) => a - b);
}
