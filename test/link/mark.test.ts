import { type ChildProcess, spawn } from "node:child_process";
import { afterEach, describe, expect, test } from "vitest";
import { createMark, findMarked, MARK_VARIABLE, markedEnvironment } from "../../src/link/mark.ts";

describe("a mark", () => {
  test("is never made twice, and is plain enough for any tool", () => {
    const marks = new Set(Array.from({ length: 1000 }, createMark));
    expect(marks.size).toBe(1000);
    for (const mark of marks) expect(mark).toMatch(/^[0-9a-f]{24}$/);
  });
});

describe("a child's environment", () => {
  test("is ours and what was asked for, and what was asked for wins", () => {
    const environment = markedEnvironment({ PATH: "/bin", HOME: "/" }, { HOME: "/home", EXTRA: "" }, "m");
    expect(environment).toEqual({ PATH: "/bin", HOME: "/home", EXTRA: "", MARKED_BY_FAIRLEAD: "m" });
  });

  test("has nothing of what is meant for us, unless it was asked for", () => {
    const own = { FAIRLEAD_KEY: "k", Fairlead_Other: "o", NOT_FAIRLEAD_KEY: "n", FAIRLEADER: "f" };
    expect(markedEnvironment(own, { FAIRLEAD_ASKED: "a" }, "m")).toEqual({
      NOT_FAIRLEAD_KEY: "n",
      FAIRLEADER: "f",
      FAIRLEAD_ASKED: "a",
      MARKED_BY_FAIRLEAD: "m",
    });
  });

  test("keeps the marks of those who stand before us, whatever was asked for", () => {
    const environment = markedEnvironment({ [MARK_VARIABLE]: "one:two" }, { [MARK_VARIABLE]: "none" }, "three");
    expect(environment).toEqual({ [MARK_VARIABLE]: "one:two:three" });
  });

  test("leaves ours as it was", () => {
    const own = { PATH: "/bin" };
    markedEnvironment(own, { A: "a" }, "m");
    expect(own).toEqual({ PATH: "/bin" });
  });
});

/** The leader of no group. */
const NOBODY = -1;

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

function sorted(pids: number[]): number[] {
  return pids.toSorted((a, b) => a - b);
}
