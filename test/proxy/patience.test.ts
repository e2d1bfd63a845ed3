import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createProgress } from "../../src/cli/progress.ts";
import { createWorkMeter } from "../../src/link/work.ts";
import { inspectTools, ProxyError } from "../../src/index.ts";
import type { StartProgress } from "../../src/proxy/patience.ts";
import { fixture } from "../support/processes.ts";

vi.setConfig({ testTimeout: 30_000 }); // real processes, on a machine that may be busy

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlead-patience-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const has = (name: string): boolean => existsSync(join(folder, name));
const installer = (milliseconds: number): string[] => fixture("installer.mjs", folder, String(milliseconds));

async function refusal(attempt: Promise<unknown>): Promise<ProxyError> {
  const error: unknown = await attempt.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProxyError)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

describe.skipIf(process.platform !== "linux")("a server that is being installed", () => {
  test("is waited for as long as it works, though it says nothing, and that is told", async () => {
    const told: StartProgress[] = [];
    const onProgress = (progress: StartProgress): void => void told.push(progress);
    const { tools } = await inspectTools({ command: installer(3500), idleMs: 1500, onProgress, log: null });
    expect(tools.length).toBeGreaterThan(0);
    expect(told.length).toBeGreaterThanOrEqual(3);
    expect(told[1].isWorking).toBe(true);
    expect(has("whole")).toBe(true);
  });

  test("is asked to end before it is killed, so that it leaves nothing half done behind", async () => {
    const { remedy } = await refusal(inspectTools({ command: installer(60_000), timeoutMs: 1500, log: null }));
    expect(remedy).toContain("Request timeout after 1500ms");
    expect(remedy).toContain("--tools-timeout");
    expect([has("half"), has("whole")]).toEqual([false, false]);
  });

  test("is ended in the same way when nobody wants to wait any longer", async () => {
    const abort = new AbortController();
    const attempt = refusal(inspectTools({ command: installer(60_000), signal: abort.signal, log: null }));
    await vi.waitFor(() => expect(has("half")).toBe(true), 10_000);
    abort.abort();
    expect((await attempt).remedy).toBe("Interrupted");
    expect([has("half"), has("whole")]).toEqual([false, false]);
  });
});

describe.skipIf(process.platform !== "linux")("a server that does nothing", () => {
  test("is given up long before the limit, with a word on what to do", async () => {
    const before = performance.now();
    const { remedy } = await refusal(inspectTools({ command: ["sleep", "1000"], idleMs: 1500, log: null }));
    expect(performance.now() - before).toBeLessThan(15_000);
    expect(remedy).toBe(
      "Request timeout after 1500ms in which the server was idle\n" +
        "It said nothing: check that the command is an MCP server on stdin and stdout, " +
        "or give it more time with --tools-timeout",
    );
  });

  test("is not at work, also where it has a timer", async () => {
    const { spawn } = await import("node:child_process");
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 100)"], { detached: true });
    const { pid = 0 } = child;
    const meter = createWorkMeter("no mark", pid);
    expect(meter.look()).toBe("working"); // it has just begun
    await vi.waitFor(() => expect(meter.look()).toBe("idle"), { timeout: 10_000, interval: 500 });
    child.kill("SIGKILL");
    await new Promise((resolve) => void child.once("exit", resolve));
    expect(meter.look()).toBe("unknown");
  });
});

const collect = (isTTY: boolean): { text: () => string; stream: NodeJS.WritableStream & { isTTY: boolean } } => {
  let text = "";
  const stream = { isTTY, write: (piece: string) => ((text += piece), true) };
  return { text: () => text, stream: stream as unknown as NodeJS.WritableStream & { isTTY: boolean } };
};

describe("progress on stderr", () => {
  const seconds = Array.from({ length: 12 }, (_, nth) => ({ elapsedMs: (nth + 1) * 1000, isWorking: true }));

  test("is another line every few seconds where lines stay", () => {
    const { text, stream } = collect(false);
    const progress = createProgress(stream);
    for (const second of seconds) progress.tell(second);
    progress.end();
    const line = "Waiting for the server: it is busy, and may be installing packages";
    expect(text()).toBe(`${line} (3 s)\n${line} (8 s)\n`);
  });

  test("is one line that changes and goes on a terminal", () => {
    const { text, stream } = collect(true);
    const progress = createProgress(stream);
    for (const second of seconds) progress.tell(second);
    progress.tell({ elapsedMs: 13_000, isWorking: null });
    progress.end();
    expect(text()).not.toContain("\n");
    expect(text().split("\r\u001b[2K").at(-2)).toBe("Waiting for the server to answer (13 s)");
    expect(text().endsWith("\r\u001b[2K")).toBe(true);
  });

  test("is nothing for a server that answers soon", () => {
    const { text, stream } = collect(true);
    const progress = createProgress(stream);
    progress.tell({ elapsedMs: 1000, isWorking: true });
    progress.end();
    expect(text()).toBe("");
  });
});
