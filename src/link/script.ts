import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { createPieces } from "../wire/pieces.ts";
import { cannotRun, started } from "./child.ts";
import { killFamily } from "./family.ts";
import { createMark, MARK_VARIABLE, markedEnvironment } from "./mark.ts";
import { createTurnstile } from "./turnstile.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";
import type { HookReply } from "./webhook.ts";
import { commandLine } from "./windows.ts";

/**
 * A program that is asked about a message. It is started directly: its path and arguments do not go through a shell.
 */
export interface Script {
  readonly path: string;
  readonly args: readonly string[];
  /** The timeout for the whole request, including the time it waits for other scripts. */
  readonly timeoutMs: number;
}

/** Runs scripts. Processes that a script started are ended with it. */
export interface ScriptRunner {
  /** Gives a script its input and waits for its stdout. Never rejects. */
  run(script: Script, input: Buffer, signal?: AbortSignal): Promise<HookReply>;
  /** Kills all running scripts, synchronously. Pending runs resolve with a failure. */
  close(): void;
}

/** Options of a script runner. */
export interface ScriptOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Called with each line that a script writes to stderr, up to a limit. */
  readonly onComplaint: (path: string, text: string) => void;
  readonly onTrouble: (text: string) => void;
}

/** How many scripts run at a time. */
const MAX_RUNNING = 8;
const MAX_WAITING = 200;
/** The limit for a script's output. For a large input it is twice the size of the input, if that is more. */
const MAX_REPLY_BYTES = 1024 * 1024;
/** How much of a script's stderr is reported. All of it is read, so that the script does not block. */
const MAX_COMPLAINT_BYTES = 16 * 1024;
/** How long to wait for a script's remaining output after it has exited. */
const LAST_WORDS_MS = 1000;

/** Makes a runner. */
export function createScriptRunner({ cwd, env = process.env, onComplaint, onTrouble }: ScriptOptions): ScriptRunner {
  const turnstile = createTurnstile(MAX_RUNNING, MAX_WAITING);
  const pending = new Set<(reply: HookReply) => void>();
  // One watchdog for all scripts: it knows this mark, and every script carries it in addition to its own.
  const ownMark = createMark();
  const marks = env[MARK_VARIABLE];
  const marked = { ...env, [MARK_VARIABLE]: marks === undefined ? ownMark : `${marks}:${ownMark}` };
  let watchdog: Watchdog | undefined;
  let isWatched = false;
  let isClosed = false;

  function watch(): Watchdog | undefined {
    if (!isWatched)
      watchdog = startWatchdog(ownMark, (error) => onTrouble(`the watchdog does not run: ${error.message}`));
    isWatched = true;
    return watchdog;
  }

  /** Starts a script and waits for its end. Returns a function that kills it. */
  function start(script: Script, input: Buffer, end: (reply: HookReply) => void): () => void {
    const mark = createMark();
    // Before the script: if the proxy is killed between the two, the watchdog finds the script by its mark.
    const dog = watch();
    let child: ChildProcess;
    try {
      const line = commandLine(script.path, script.args);
      child = spawn(line.command, line.args, {
        stdio: ["pipe", "pipe", "pipe"],
        detached: process.platform !== "win32", // a process group of its own, so that all of it can be killed
        env: markedEnvironment(marked, {}, mark),
        cwd,
        windowsHide: true,
        windowsVerbatimArguments: line.verbatim,
      });
    } catch (error) {
      end({ failure: cannotRun(script.path, error as NodeJS.ErrnoException).message });
      return nothing;
    }
    started(child).catch((error: NodeJS.ErrnoException) => end({ failure: cannotRun(script.path, error).message }));
    const { pid, stdin, stdout, stderr } = child;
    if (pid === undefined || stdin === null || stdout === null || stderr === null) return nothing;
    dog?.watch(pid);
    let isOver = false;
    const kill = (): void => {
      if (isOver) return; // the process id may have been reused
      isOver = true;
      killFamily(pid, mark);
      dog?.unwatch(pid);
    };
    const heard = hear(stderr, (text) => onComplaint(script.path, text));
    const said = collect(stdout, Math.max(MAX_REPLY_BYTES, 2 * input.length), () =>
      end({ failure: "sent a response that is too large" }),
    );
    stdin.on("error", () => {}); // it need not read
    stdin.end(input);
    child.once("exit", (code, name) => {
      // Processes that it left in the background are killed too, which closes its pipes.
      kill();
      const close = (reply: HookReply): void => {
        clearTimeout(late);
        if (code === 0) end(reply);
        else end({ failure: code === null ? `was ended by the signal ${name}` : `ended with exit code ${code}` });
      };
      const late = setTimeout(close, LAST_WORDS_MS, {
        failure: "left a background process that keeps its stdout or stderr open",
      });
      void Promise.all([said, heard]).then(([body]) => close({ body }));
    });
    return () => {
      kill();
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    };
  }

  return {
    run(script, input, signal) {
      return new Promise((resolve) => {
        let isInside = false;
        let isOver = false;
        let stop = nothing;
        const end = (reply: HookReply): void => {
          if (isOver) return;
          isOver = true;
          clearTimeout(timer);
          signal?.removeEventListener("abort", leave);
          pending.delete(end);
          withdraw?.();
          stop();
          resolve(reply);
          if (isInside) turnstile.leave();
        };
        const leave = (): void => end({ failure: "was cancelled" });
        const timer = setTimeout(() => end({ failure: `did not end within ${script.timeoutMs} ms` }), script.timeoutMs);
        let withdraw: (() => void) | null = null;
        if (isClosed) return end({ failure: "was closed" });
        if (signal?.aborted === true) return leave();
        signal?.addEventListener("abort", leave, { once: true });
        pending.add(end);
        withdraw = turnstile.enter(() => {
          isInside = true;
          stop = start(script, input, end);
        });
        if (withdraw === null) end({ failure: "did not start: too many scripts are waiting" });
      });
    },
    close() {
      isClosed = true;
      turnstile.close();
      for (const end of pending) end({ failure: "was closed" });
      watchdog?.dismiss();
    },
  };
}

function nothing(): void {}

/** Collects the bytes of a stream, up to a limit. */
function collect(stream: Readable, most: number, onTooMuch: () => void): Promise<Buffer> {
  const pieces = createPieces();
  let size = 0;
  return new Promise((resolve) => {
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > most) onTooMuch();
      else pieces.push(chunk);
    });
    stream.on("error", () => {});
    stream.on("close", () => resolve(pieces.join()));
  });
}

/** Reports the lines of a stream, up to a limit. Resolves when the stream ends. */
function hear(stream: Readable, onLine: (text: string) => void): Promise<void> {
  let heard = 0;
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const left = MAX_COMPLAINT_BYTES - heard;
    if (left <= 0) return;
    heard += chunk.length;
    const lines = (rest + chunk.slice(0, left)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
    if (heard < MAX_COMPLAINT_BYTES) return;
    onLine(`${rest}…`);
    rest = "";
  });
  stream.on("error", () => {});
  return new Promise((resolve) => {
    stream.on("close", () => {
      if (rest !== "") onLine(rest);
      resolve();
    });
  });
}
