import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { ProxyError } from "../errors.ts";
import { hasGroup, killFamily, sendSignal } from "./family.ts";
import { createMark, markedEnvironment } from "./mark.ts";
import { carryStderr, sharesStderr } from "./stderr.ts";
import { commandLine } from "./windows.ts";
import { startWatchdog } from "./watchdog.ts";
import { createWorkMeter, type WorkMeter } from "./work.ts";

/** A server that runs as a child process. */
export interface ChildServer {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /**
   * Resolves when the process exits. It does not wait for the pipes to close, because child processes of the server may
   * hold them open.
   */
  readonly ended: Promise<ChildEnd>;
  /** Resolves when all of its stderr has been written. */
  readonly complained: Promise<void>;
  /** Whether a process of its process group is still running. */
  readonly hasCompany: boolean;
  /** Makes a meter for the activity of the process and everything it started. */
  measureWork(): WorkMeter;
  /** Sends SIGTERM to the process and its group. */
  terminate(): void;
  /** Kills the process, its group and everything that carries our mark, synchronously. */
  kill(): void;
  /** Stops watching, when no process is left. */
  release(): void;
}

/** How a child process ended. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Options of a child process. */
export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly onTrouble: (text: string) => void;
}

/** Starts a server. Rejects with a ProxyError if the command cannot run. */
export async function startChild({ command, args, env, cwd, onTrouble }: ChildOptions): Promise<ChildServer> {
  if (cwd !== undefined) checkDirectory(cwd);
  const mark = createMark();
  // Before the child: if the proxy is killed between the two, the watchdog finds the child by its mark.
  const watchdog = startWatchdog(mark, (error) => onTrouble(`the watchdog does not run: ${error.message}`));
  let child: ChildProcess;
  try {
    const line = commandLine(command, args);
    child = spawn(line.command, line.args, {
      stdio: ["pipe", "pipe", sharesStderr() ? "pipe" : "inherit"],
      detached: process.platform !== "win32", // a process group of its own, so that all of it can be killed
      env: markedEnvironment(process.env, env, mark),
      cwd,
      windowsHide: true,
      windowsVerbatimArguments: line.verbatim,
    });
    await started(child);
  } catch (cause) {
    watchdog?.dismiss();
    throw cannotRun(command, cause as NodeJS.ErrnoException);
  }
  const { pid, stdin, stdout } = child;
  if (pid === undefined || stdin === null || stdout === null) throw new Error("a child without pipes");
  watchdog?.watch(pid);
  let isReleased = false;
  return {
    pid,
    stdin,
    stdout,
    ended: new Promise<ChildEnd>((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
    }),
    complained: child.stderr === null ? Promise.resolve() : carryStderr(child.stderr),
    get hasCompany() {
      return hasGroup(pid);
    },
    measureWork: () => createWorkMeter(mark, pid),
    terminate() {
      if (process.platform === "win32") child.kill();
      else sendSignal(-pid, "SIGTERM");
    },
    kill() {
      if (isReleased) return; // the process id may have been reused
      killFamily(pid, mark);
    },
    release() {
      isReleased = true;
      watchdog?.dismiss();
    },
  };
}

/** Waits until a child process runs. */
export function started(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", () => resolve());
    child.once("error", reject);
  });
}

/** The error for a command that could not be started. */
export function cannotRun(command: string, cause: NodeJS.ErrnoException): ProxyError {
  const shown = showName(command);
  const code = cause.code ?? cause.message;
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
    case "ERR_INVALID_ARG_VALUE": {
      const isLine = /\S\s+\S/.test(command) && !/[\\/].*\s/.test(command);
      const remedy = isLine
        ? "The name has spaces in it: remove the quotes around the whole command"
        : "Check the spelling, or give the full path";
      return new ProxyError("COMMAND_NOT_FOUND", `Command not found: ${shown}`, remedy, { cause });
    }
    case "EMFILE":
    case "ENFILE":
    case "EAGAIN":
    case "ENOMEM": {
      const remedy = `${code}: the machine cannot start another process at the moment`;
      return new ProxyError("COMMAND_NOT_RUNNABLE", `Command cannot run: ${shown}`, remedy, { cause });
    }
    default: {
      const remedy = `${code}: check that the file is a program and that you may execute it`;
      return new ProxyError("COMMAND_NOT_RUNNABLE", `Command cannot run: ${shown}`, remedy, { cause });
    }
  }
}

function checkDirectory(cwd: string): void {
  let remedy = "Give --cwd a directory that exists";
  try {
    if (statSync(cwd).isDirectory()) return accessSync(cwd, constants.X_OK);
    remedy = "It is a file: give --cwd the directory the server is to start in";
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") {
      const way = "Give --cwd a directory that you may enter, or have its permissions changed";
      throw new ProxyError("BAD_DIRECTORY", `No permission to enter ${showName(cwd)}`, way, { cause });
    }
  }
  throw new ProxyError("BAD_DIRECTORY", `Not a directory: ${showName(cwd)}`, remedy);
}

/** A name for a message, quoted if it could not be recognized as a name otherwise. */
function showName(name: string): string {
  const shown = name.length > 200 ? `${name.slice(0, 200)}…` : name;
  if (/^[^\s\p{C}]+$/u.test(shown)) return shown;
  return `"${shown.replaceAll(/\p{C}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
}
