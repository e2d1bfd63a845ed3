import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { createScriptRunner, type ScriptOptions, type ScriptRunner } from "../../src/link/script.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-script-"));
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;

/** A program with this text in it, and a folder of its own to leave traces in. */
function script(code: string, mode = 0o700): string {
  const path = join(folder, `script-${++count}.sh`);
  writeFileSync(path, `#!/bin/sh\n${code}\n`, { mode });
  chmodSync(path, mode);
  return path;
}

interface Runner extends ScriptRunner {
  readonly complaints: string[];
  ask(path: string, input?: string, timeoutMs?: number, args?: readonly string[]): Promise<string>;
}

function runner(options: Partial<ScriptOptions> = {}): Runner {
  const complaints: string[] = [];
  const made = createScriptRunner({
    cwd: folder,
    onComplaint: (_, text) => complaints.push(text),
    onTrouble: (text) => complaints.push(`trouble: ${text}`),
    ...options,
  });
  closing.push(() => made.close());
  return {
    ...made,
    complaints,
    async ask(path, input = "", timeoutMs = 10_000, args = []) {
      const reply = await made.run({ path, args, timeoutMs }, Buffer.from(input));
      return "failure" in reply ? `failure: ${reply.failure}` : reply.body.toString("utf8");
    },
  };
}

/** Whether a process whose id was left in a file still lives. */
function lives(file: string): boolean {
  const pid = Number(readFileSync(join(folder, file), "utf8"));
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

const isWritten = (file: string): boolean =>
  existsSync(join(folder, file)) && readFileSync(join(folder, file)).length > 0;

describe.runIf(process.platform === "linux")("a script", { timeout: 30_000 }, () => {
  test("reads the message and says what it thinks", async () => {
    const message = '{"id":9007199254740993,"text":"é \\u0000 $(rm -rf x) \'"}';
    expect(await runner().ask(script("cat"), message)).toBe(message);
  });

  test("gets its arguments as they are, and no shell reads them", async () => {
    const args = ["a b", "$HOME", "`id`", "*", "", "; echo x", "--", "é"];
    const said = await runner().ask(script('for arg in "$@"; do printf "[%s]" "$arg"; done'), "", 10_000, args);
    expect(said).toBe(args.map((arg) => `[${arg}]`).join(""));
    expect(await runner().ask("echo 'x'")).toBe(`failure: Command not found: "echo 'x'"`);
  });

  test("has our environment without what is meant for us, and the folder it was given", async () => {
    const env = { PATH: process.env["PATH"], OTHER: "yes", FAIRLEAD_KEY: "hush", fairlead_token: "hush" };
    const said = await runner({ env }).ask(script("env; pwd"));
    expect(said).toContain("OTHER=yes\n");
    expect(said).not.toContain("hush");
    expect(said.trimEnd().endsWith(folder)).toBe(true);
  });

  test("need not read what it is given, however much", async () => {
    expect(await runner().ask(script("echo '{}'"), "x".repeat(5_000_000))).toBe("{}\n");
  });

  test("may say much where it was given much", async () => {
    const input = "x".repeat(3_000_000);
    expect(await runner().ask(script("cat"), input)).toBe(input);
  });

  test.each([
    ["ends with a code", "echo '{}'; exit 3", "ended with exit code 3"],
    ["is killed", "kill -9 $$", "was ended by the signal SIGKILL"],
    ["says too much", "yes", "sent a response that is too large"],
  ])("that %s has failed", async (_, code, failure) => {
    expect(await runner().ask(script(code))).toBe(`failure: ${failure}`);
  });

  test("that is not there or may not run has failed", async () => {
    expect(await runner().ask(join(folder, "none"))).toBe(`failure: Command not found: ${join(folder, "none")}`);
    expect(await runner().ask(folder)).toBe(`failure: Command cannot run: ${folder}`);
    expect(await runner({ cwd: join(folder, "nowhere") }).ask(script("echo"))).toMatch(/^failure: Command not found/);
    expect(await runner().ask("a\0b")).toMatch(/^failure: Command not found/);
  });

  test("is heard on stderr, so much and no more, and never waits for us", async () => {
    const { ask, complaints } = runner();
    expect(await ask(script("echo one >&2; echo two >&2; printf three >&2; echo '{}'"))).toBe("{}\n");
    expect(complaints).toEqual(["one", "two", "three"]);
    expect(await ask(script("echo why >&2; exit 1"))).toBe("failure: ended with exit code 1");
    expect(complaints.at(-1)).toBe("why");
    const other = runner();
    expect(await other.ask(script("head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; echo '{}'"))).toBe("{}\n");
    expect(other.complaints.join("").length).toBeLessThan(20_000);
    expect(other.complaints.at(-1)).toMatch(/x…$/);
  });

  test("that takes too long is ended, with all that it started", async () => {
    const code = [
      "echo $$ > self",
      "sleep 100 & echo $! > background",
      'setsid sh -c "echo \\$\\$ > daemon; exec sleep 100" &',
      'env -i setsid sh -c "echo \\$\\$ > nameless; exec sleep 100" &',
      "trap '' TERM HUP INT",
      "sleep 100",
    ].join("\n");
    const asked = runner();
    const began = performance.now();
    expect(await asked.ask(script(code), "", 1500)).toBe("failure: did not end within 1500 ms");
    expect(performance.now() - began).toBeLessThan(10_000);
    for (const file of ["self", "background", "daemon", "nameless"]) {
      await expect.poll(() => lives(file), { message: file }).toBe(false);
    }
  });

  test("that ends leaves nobody behind", async () => {
    const code = [
      "sleep 100 & echo $! > left",
      'setsid sh -c "echo \\$\\$ > gone; exec sleep 100" >/dev/null 2>&1 </dev/null &',
      "while [ ! -s gone ]; do sleep 0.01; done",
      "echo '{}'",
    ].join("\n");
    const began = performance.now();
    expect(await runner().ask(script(code))).toBe("{}\n");
    expect(performance.now() - began).toBeLessThan(5000);
    await expect.poll(() => lives("left")).toBe(false);
    await expect.poll(() => lives("gone")).toBe(false);
  });

  test("can be given up", async () => {
    const { run } = runner();
    const leaving = new AbortController();
    const answer = run(
      { path: script("echo $$ > waited; sleep 100"), args: [], timeoutMs: 60_000 },
      Buffer.alloc(0),
      leaving.signal,
    );
    await expect.poll(() => isWritten("waited")).toBe(true);
    leaving.abort();
    expect(await answer).toEqual({ failure: "was cancelled" });
    await expect.poll(() => lives("waited")).toBe(false);
    expect(await run({ path: "x", args: [], timeoutMs: 1 }, Buffer.alloc(0), leaving.signal)).toEqual({
      failure: "was cancelled",
    });
  });

  test("waits its turn where many run, and time runs meanwhile", async () => {
    const { ask } = runner();
    // No more than eight at once: each looks how many there are.
    const path = script("mkdir -p here; : > here/$$; ls here | wc -l; sleep 0.2; rm here/$$");
    const said = await Promise.all(Array.from({ length: 20 }, () => ask(path)));
    expect(Math.max(...said.map(Number))).toBeLessThanOrEqual(8);
    const slow = script("sleep 30");
    const late = await Promise.all(Array.from({ length: 10 }, () => ask(slow, "", 500)));
    expect(new Set(late)).toEqual(new Set(["failure: did not end within 500 ms"]));
  });

  test("has to wait for so many others and no more", async () => {
    const { ask, close } = runner();
    const path = script("sleep 100");
    const answers = Array.from({ length: 210 }, () => ask(path, "", 60_000));
    expect(await Promise.race(answers)).toBe("failure: did not start: too many scripts are waiting");
    close();
    expect((await Promise.all(answers)).filter((one) => one === "failure: was closed")).toHaveLength(208);
    expect(await ask(path)).toBe("failure: was closed");
  });

  test("ends when we are killed, and so does what it started", async () => {
    const path = script(
      'echo $$ > orphan; setsid sh -c "echo \\$\\$ > lost; exec sleep 100" & trap "" TERM; sleep 100',
    );
    const quick = script("echo");
    const code = `
      import { createScriptRunner } from ${JSON.stringify(new URL("../../src/link/script.ts", import.meta.url).href)};
      const runner = createScriptRunner({ cwd: ${JSON.stringify(folder)}, onComplaint() {}, onTrouble: console.error });
      await runner.run({ path: ${JSON.stringify(quick)}, args: [], timeoutMs: 9000 }, Buffer.alloc(0));
      void runner.run({ path: ${JSON.stringify(path)}, args: [], timeoutMs: 60000 }, Buffer.alloc(0));
    `;
    const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", code];
    const owner = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    const ended = new Promise((resolve) => owner.on("exit", resolve));
    await expect.poll(() => isWritten("orphan") && isWritten("lost"), { timeout: 20_000 }).toBe(true);
    owner.kill("SIGKILL");
    await ended;
    await expect.poll(() => lives("orphan") || lives("lost"), { timeout: 10_000 }).toBe(false);
    const left = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandOf(name).includes(path));
    expect(left).toEqual([]);
  });
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}
