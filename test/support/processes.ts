import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { test as plainTest } from "vitest";
import { COMMAND, fixture, readCount } from "./command.ts";

export { COMMAND, fixture, readCount };

/** How a program is started. */
export interface StartOptions {
  /** Added to our own environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Whether its stdout is read. It is, unless a test wants to be a client that does not. */
  readonly read?: boolean;
}

/** How Fairlead is started. */
interface FairleadOptions extends StartOptions {
  readonly options?: readonly string[];
  /** Options of Node itself. */
  readonly node?: readonly string[];
}

/** A living process. */
export interface Relative {
  readonly pid: number;
  readonly group: number;
  readonly session: number;
  readonly command: string;
}

/** How a program ended, and who was left of those it started. */
interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly left: readonly string[];
}

/** A program at work, with all that it starts. */
export interface Program {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly isOver: boolean;
  /** When it ended, in milliseconds on the clock of `performance`. */
  readonly overSince: number;
  /** Writes messages: text as it is, values as lines of JSON. */
  say(...messages: (string | object)[]): void;
  /** Waits until this was read from its stdout. */
  hears(part: string): Promise<void>;
  /** Waits until this was read from its stderr. */
  complains(part: string): Promise<void>;
  /** All that lives of what it started, however far it went. */
  family(): Relative[];
  /** Waits until one of them has this in its command line. */
  sees(part: string): Promise<Relative>;
  /** Waits for its end, and then a while for that of its family. */
  end(familyMs?: number): Promise<End>;
}

/** Starts Fairlead in front of a server. */
export type StartFairlead = (server: readonly string[], options?: FairleadOptions) => Program;

/** A test that starts programs. Whatever is left of them when it is over is killed. */
export const test = plainTest.extend<{
  startProgram: (argv: readonly string[], options?: StartOptions) => Program;
  start: StartFairlead;
}>({
  // oxlint-disable-next-line no-empty-pattern -- this is how vitest sees that it depends on nothing
  startProgram: async ({}, use) => {
    const started: { tag: number; program: Program }[] = [];
    await use((argv, options) => {
      const tag = nextTag++;
      const program = startProgram(tag, argv, options);
      started.push({ tag, program });
      return program;
    });
    for (const { tag } of started) {
      for (const { pid } of findTagged(tag)) tryToKill(pid);
    }
  },
  start: async ({ startProgram }, use) => {
    await use((server, { options = [], node = [], ...rest } = {}) =>
      startProgram([process.execPath, ...node, COMMAND, ...options, "--", ...server], rest),
    );
  },
});

/** Asks again and again until the answer is neither undefined nor false. */
export async function until<T>(
  ask: () => T | undefined | false,
  what: string,
  withinMs = 15_000,
  everyMs = 20,
): Promise<T> {
  for (const limit = performance.now() + withinMs; ; await delay(everyMs)) {
    const answer = ask();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > limit) throw new Error(`not within ${withinMs} ms: ${what}`);
  }
}

// What a program starts must be found however it hides: it may leave the group and the session,
// lose its parent and empty its environment. It cannot lose its resource limits. So each program
// is given a number of its own in one that means nothing since Linux 2.4: how many files it may lock.
let nextTag = randomInt(1_000_000, 2_000_000_000);
const TAGGED = 'ulimit -c 0; { ulimit -S -w "$0" || ulimit -S -x "$0"; } 2>/dev/null; exec "$@"';

function startProgram(tag: number, argv: readonly string[], { env, cwd, read = true }: StartOptions = {}): Program {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn("sh", ["-c", TAGGED, `${tag}`, ...argv], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...env },
    cwd,
    detached: true, // a group of its own, which can be killed whole
  });
  const { pid, stdin, stdout, stderr } = child;
  if (pid === undefined) throw new Error("no shell");
  const heard: Buffer[] = [];
  const complaints: Buffer[] = [];
  if (read) stdout.on("data", (chunk: Buffer) => heard.push(chunk));
  stderr.on("data", (chunk: Buffer) => complaints.push(chunk));
  stdin.on("error", () => {}); // it may be gone before it has read everything
  let over: Pick<End, "code" | "signal"> | undefined;
  let overSince = Infinity;
  child.on("exit", (code, signal) => {
    over = { code, signal };
    overSince = performance.now();
  });
  const family = (): Relative[] => findTagged(tag).filter((relative) => relative.pid !== pid);

  return {
    pid,
    stdin,
    stdout,
    stderr,
    get isOver() {
      return over !== undefined;
    },
    get overSince() {
      return overSince;
    },
    say(...messages) {
      stdin.write(messages.map((one) => (typeof one === "string" ? one : `${JSON.stringify(one)}\n`)).join(""));
    },
    async hears(part) {
      await until(() => text(heard).includes(part), `hearing ${part}, only: ${text(heard).slice(0, 1000)}`);
    },
    async complains(part) {
      await until(() => text(complaints).includes(part), `complaining ${part}`);
    },
    family,
    // Between fork and exec a process still has the command line of the one that started it.
    sees: (part) =>
      until(
        () => family().find(({ command }) => command !== argv.join(" ") && command.includes(part)),
        `a process ${part}`,
      ),
    async end(familyMs = 2000) {
      const { code, signal } = await until(() => over, `the end of ${argv.join(" ")}`, 25_000);
      if (read) await until(() => stdout.readableEnded || stdout.destroyed, "the end of its stdout");
      for (const limit = performance.now() + familyMs; family().length > 0 && performance.now() < limit;)
        await delay(20);
      const left = family().map((relative) => `${relative.pid} ${relative.command.slice(0, 100)}`);
      return { code, signal, stdout: text(heard), stderr: text(complaints).replace(ENDED, ""), left };
    },
  };
}

// The line of the log that says how a server ended. It has a time in it, and a test of its own.
const ENDED = /^\S+Z info {2}the server ended (?:code|signal)=.*\n/m;

function text(chunks: Buffer[]): string {
  return Buffer.concat(chunks).toString("latin1");
}

/** All living processes with this tag. */
function findTagged(tag: number): Relative[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // "pid (any text) state parent group session …": the text may hold spaces and parentheses.
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      const [state, , group, session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (state === "Z" || state === "X") return [];
      const [, soft] = /^Max file locks +(\S+)/m.exec(readFileSync(`/proc/${name}/limits`, "latin1")) ?? [];
      if (Number(soft) !== tag) return [];
      const command = readFileSync(`/proc/${name}/cmdline`, "latin1").replaceAll("\0", " ").trim();
      return [{ pid: Number(name), group: Number(group), session: Number(session), command }];
    } catch {
      return []; // gone meanwhile
    }
  });
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone meanwhile.
  }
}
