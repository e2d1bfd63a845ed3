import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { ProxyError } from "../errors.ts";
import { createMark, findMarked, markedEnvironment } from "./mark.ts";
import { commandLine } from "./windows.ts";
import { startWatchdog } from "./watchdog.ts";

/** A server that is a child process of ours. */
export interface ChildServer {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when it ends, however it does. Not when its pipes close: those its children may hold open. */
  readonly ended: Promise<ChildEnd>;
  /** Asks it and its group to end. */
  terminate(): void;
  /** Ends it, its group and all that carries our mark, now and synchronously. */
  kill(): void;
  /** Nothing is left to watch over. */
  release(): void;
}

/** How a child ended. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What to start, and where. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly onTrouble: (text: string) => void;
}

/** Starts a server. Rejects with a ProxyError when the command cannot run. */
export async function startChild({ command, args, env, cwd, onTrouble }: ChildOptions): Promise<ChildServer> {
  if (cwd !== undefined) checkDirectory(cwd);
  const mark = createMark();
  // Before the child: if we are killed between the two, it finds the child by its mark.
  const watchdog = startWatchdog(mark, (error) => onTrouble(`no watchdog: ${error.message}`));
  const environment = markedEnvironment(process.env, env, mark);
  const line = commandLine(command, args);
  const child = spawn(line.command, line.args, {
    stdio: ["pipe", "pipe", "inherit"],
    detached: process.platform !== "win32", // a group of its own, so that all of it can be ended
    env: environment,
    cwd,
    windowsHide: true,
    windowsVerbatimArguments: line.verbatim,
  });
  await started(child, command, () => watchdog?.dismiss());
  const { pid, stdin, stdout } = child;
  if (pid === undefined || stdin === null || stdout === null) throw new Error("a child without pipes");
  watchdog?.watch(pid);
  const ended = new Promise<ChildEnd>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  return {
    pid,
    stdin,
    stdout,
    ended,
    terminate() {
      if (process.platform === "win32") child.kill();
      else signal(-pid, "SIGTERM");
    },
    kill() {
      if (process.platform === "win32") spawnSync("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore" });
      else killAll(pid, mark);
    },
    release() {
      watchdog?.dismiss();
    },
  };
}

/** Ends a group and all that carries the mark. Twice over: something may have been born meanwhile. */
function killAll(leader: number, mark: string): void {
  signal(-leader, "SIGKILL");
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const pids = findMarked(mark, leader);
    if (pids.length === 0) return;
    for (const pid of pids) signal(pid, "SIGKILL");
  }
}

const MAX_ROUNDS = 10;

function signal(target: number, name: NodeJS.Signals): void {
  try {
    process.kill(target, name);
  } catch {
    // Nobody there any more.
  }
}

/** Waits until the child runs, or says why it does not. */
function started(child: ChildProcess, command: string, onFailure: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", () => resolve());
    child.once("error", (cause: NodeJS.ErrnoException) => {
      onFailure();
      if (cause.code === "ENOENT") {
        const remedy = "Check the spelling, or give the full path";
        reject(new ProxyError("COMMAND_NOT_FOUND", `Command not found: ${command}`, remedy, { cause }));
      } else {
        const remedy = `${cause.code ?? cause.message}: check that the file is a program and that you may execute it`;
        reject(new ProxyError("COMMAND_NOT_RUNNABLE", `Command cannot run: ${command}`, remedy, { cause }));
      }
    });
  });
}

function checkDirectory(cwd: string): void {
  try {
    if (statSync(cwd).isDirectory()) return;
  } catch {
    // Said below.
  }
  throw new ProxyError("BAD_DIRECTORY", `Not a directory: ${cwd}`, "Give --cwd a directory that exists");
}
